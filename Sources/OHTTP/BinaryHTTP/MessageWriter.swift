@_spi(Internals) import ApproovBase
import Foundation
import HTTPTypes

/// Writes the parts of a Binary HTTP message (RFC 9292, sections 3.1 and 3.2).
struct MessageWriter {
    private(set) var bytes: [UInt8] = []
    private let framing: BinaryHTTPFraming

    init(_ framing: BinaryHTTPFraming) {
        self.framing = framing
    }

    private var isKnownLength: Bool { framing == .knownLength }

    /// Reserves memory for a message with the given content length; an unusually long head makes the array grow once more.
    mutating func reserve(body: Int, padding: BinaryHTTPPadding) {
        bytes.reserveCapacity(padding.paddedSize(of: body + 512))
    }

    mutating func appendRequestIndicator() {
        bytes.append(isKnownLength ? FramingIndicator.knownLengthRequest : FramingIndicator.indeterminateLengthRequest)
    }

    mutating func appendResponseIndicator() {
        bytes.append(isKnownLength ? FramingIndicator.knownLengthResponse : FramingIndicator.indeterminateLengthResponse)
    }

    mutating func append(_ request: HTTPRequest) throws(OHTTPError) {
        let extendedConnectProtocol = request.extendedConnectProtocol
        try ControlData.append(request, hasProtocol: extendedConnectProtocol != nil, to: &bytes)
        append(request.headerFields, extendedConnectProtocol: extendedConnectProtocol)
    }

    mutating func append(_ response: HTTPResponse, isFinal: Bool) throws(OHTTPError) {
        try ControlData.append(response, isFinal: isFinal, to: &bytes)
        append(response.headerFields)
    }

    /// Writes all content of a message, and its trailers.
    mutating func append(body: Data, trailers: HTTPFields) {
        append(chunk: body)
        if !isKnownLength, !body.isEmpty { append(chunk: Data()) }
        append(trailers)
    }

    /// Writes the content of a known-length message, or one chunk of an indeterminate-length one; an empty chunk ends the content.
    mutating func append(chunk: Data) {
        VariableLengthInteger.append(chunk.count, to: &bytes)
        guard !chunk.isEmpty else { return }
        chunk.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    /// Writes a field section.
    mutating func append(_ fields: HTTPFields, extendedConnectProtocol: String? = nil) {
        let start = bytes.count
        // Most sections have a length of two bytes: they are reserved here and filled in at the end.
        if isKnownLength {
            guard !fields.isEmpty || extendedConnectProtocol != nil else { return bytes.append(0) }
            bytes.append(0)
            bytes.append(0)
        }
        if let extendedConnectProtocol { appendLine(name: ":protocol", value: extendedConnectProtocol) }
        let named = ConnectionFields.named(in: fields)
        for field in fields where !ConnectionFields.isAboutConnection(field, named: named) { append(field) }
        if isKnownLength {
            setLength(at: start)
        } else {
            bytes.append(0)
        }
    }

    /// Returns the message with its padding; `before` counts the bytes of the message that were already sent.
    consuming func padded(_ padding: BinaryHTTPPadding, before: Int = 0) -> [UInt8] {
        let size = padding.paddedSize(of: before + bytes.count) - before
        if size > bytes.count { bytes.append(contentsOf: repeatElement(0, count: size - bytes.count)) }
        return bytes
    }

    private mutating func append(_ field: HTTPField) {
        let name = field.name.canonicalName.utf8
        VariableLengthInteger.append(name.count, to: &bytes)
        bytes.append(contentsOf: name)
        field.withUnsafeBytesOfValue { value in
            // White space around a value is not part of it (RFC 9110, section 5.5), and would make the message invalid.
            let value = OptionalWhitespace.trimmed(value)
            VariableLengthInteger.append(value.count, to: &bytes)
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: value))
        }
    }

    private mutating func appendLine(name: String, value: String) {
        for text in [name, value] {
            VariableLengthInteger.append(text.utf8.count, to: &bytes)
            bytes.append(contentsOf: text.utf8)
        }
    }

    /// Writes the section's length into the two bytes reserved at `start`, or replaces them if it needs another size.
    private mutating func setLength(at start: Int) {
        let length = bytes.count - start - 2
        if VariableLengthInteger.size(of: length) == 2 {
            bytes[start] = UInt8(truncatingIfNeeded: length >> 8) | 0x40
            bytes[start + 1] = UInt8(truncatingIfNeeded: length)
        } else {
            var prefix: [UInt8] = []
            VariableLengthInteger.append(length, to: &prefix)
            bytes.replaceSubrange(start..<start + 2, with: prefix)
        }
    }
}
