@_spi(Internals) import ApproovBase
import HTTPTypes

/// The field lines of a section while they are read, with the rules for each (RFC 9292, section 3.6).
///
/// One rule is not enforced: a name may have capitals, which the section forbids. Other implementations send them, and they do no harm,
/// because `HTTPField.Name` at once makes the name in lower case by which it is compared and encoded.
struct FieldSection {
    /// The position of a field section; it decides which pseudo-fields are allowed.
    enum Place { case request, response, trailers }

    private(set) var fields = HTTPFields()
    /// The pseudo-field `:protocol` (RFC 8441), the only one that a request may have in its fields.
    private(set) var extendedConnectProtocol: String?
    /// The size of the lines read so far, in bytes.
    private(set) var byteCount = 0
    let place: Place

    init(_ place: Place) {
        self.place = place
    }

    /// The result of reading a line.
    enum Line: Equatable {
        case incomplete
        /// An empty name, which ends an indeterminate-length section.
        case terminator(end: Int)
        case field(end: Int)
    }

    /// Reads the line at `start` if it is complete before `end`.
    ///
    /// Lengths are checked against the limits before the parser waits for the bytes, so that waiting for the rest of a line is bounded.
    mutating func readLine(
        _ bytes: Span<UInt8>, from start: Int, to end: Int, limits: BinaryHTTPLimits
    ) throws(OHTTPError) -> Line {
        let bytes = bytes.extracting(..<end)
        let room = UInt64(max(limits.fieldSectionBytes - byteCount, 0))
        var offset = start
        guard let nameLength = VariableLengthInteger.read(bytes, at: &offset) else { return .incomplete }
        guard nameLength > 0 else { return .terminator(end: offset) }
        guard nameLength <= room else { throw Self.tooLarge }
        let name = offset..<offset + Int(nameLength)
        guard name.upperBound < end else { return .incomplete }
        offset = name.upperBound
        guard let valueLength = VariableLengthInteger.read(bytes, at: &offset) else { return .incomplete }
        guard valueLength <= room else { throw Self.tooLarge }
        let value = offset..<offset + Int(valueLength)
        guard value.upperBound <= end else { return .incomplete }
        byteCount += value.upperBound - start
        guard byteCount <= limits.fieldSectionBytes else { throw Self.tooLarge }
        guard fields.count < limits.acceptedFields else {
            throw OHTTPError(.limitExceeded, "a field section exceeds the limit fieldCount")
        }
        try append(name: bytes.extracting(name), value: bytes.extracting(value))
        return .field(end: value.upperBound)
    }

    private mutating func append(name: Span<UInt8>, value: Span<UInt8>) throws(OHTTPError) {
        let kind = Self.kind(of: value)
        guard kind != .invalid else {
            throw OHTTPError(
                .malformedMessage, "a field value contains NUL, CR or LF, or begins or ends with white space (RFC 9113, section 8.2.1)")
        }
        guard name[0] != UInt8(ascii: ":") else { return try appendPseudoField(name: name, value: value) }
        guard isASCII(name), let fieldName = HTTPField.Name(String(ascii: name)) else {
            throw OHTTPError(.malformedMessage, "a field name contains a byte that is not allowed (RFC 9110, section 5.1)")
        }
        // One allocation holds the fields of a typical message; otherwise the array would grow several times.
        if fields.isEmpty { fields.reserveCapacity(8) }
        // The lenient initialiser keeps every byte, but takes half as long again as the other.
        fields.append(
            kind == .text
                ? HTTPField(name: fieldName, value: String(ascii: value))
                : value.withUnsafeBufferPointer { HTTPField(name: fieldName, lenientValue: $0) })
    }

    private mutating func appendPseudoField(name: Span<UInt8>, value: Span<UInt8>) throws(OHTTPError) {
        guard place == .request, isASCII(name), String(ascii: name) == ":protocol", extendedConnectProtocol == nil, fields.isEmpty,
            Self.kind(of: value) == .text, !value.isEmpty
        else {
            throw OHTTPError(
                .malformedMessage,
                "a pseudo-field is not allowed, except one :protocol before a request's other fields (RFC 9292, section 3.6)")
        }
        extendedConnectProtocol = String(ascii: value)
    }

    static var tooLarge: OHTTPError {
        OHTTPError(.limitExceeded, "a field section exceeds the limit fieldSectionBytes")
    }

    private enum Kind {
        case invalid
        /// Visible ASCII and spaces.
        case text
        /// Has bytes above 0x7f, tabs or other control characters, which are kept unchanged.
        case octets
    }

    /// Classifies a value by RFC 9113, section 8.2.1.
    private static func kind(of value: Span<UInt8>) -> Kind {
        guard !value.isEmpty else { return .text }
        guard !OptionalWhitespace.contains(value[0]), !OptionalWhitespace.contains(value[value.count - 1]) else { return .invalid }
        // A loop without an early exit is vectorised.
        let isText = value.withUnsafeBufferPointer { $0.reduce(0 as UInt8) { $0 | ($1 &- 0x20 > 0x5e ? 1 : 0) } == 0 }
        guard !isText else { return .text }
        for index in value.indices {
            let byte = value[index]
            if byte == 0x00 || byte == 0x0a || byte == 0x0d { return .invalid }
        }
        return .octets
    }
}

extension String {
    /// Makes a string of bytes that the caller has found to be ASCII, so that they are not checked again.
    init(ascii bytes: Span<UInt8>) {
        assert(isASCII(bytes))
        self.init(copying: unsafe UTF8Span(unchecked: bytes, isKnownASCII: true))
    }
}

/// Whether no byte is above 0x7f.
private func isASCII(_ bytes: Span<UInt8>) -> Bool {
    bytes.withUnsafeBufferPointer { $0.reduce(0, |) < 0x80 }
}
