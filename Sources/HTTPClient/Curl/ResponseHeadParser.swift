@_spi(Internals) import ApproovBase
import HTTPTypes

/// Parses the header section that libcurl delivered line by line (RFC 9112, sections 4 and 5); libcurl writes HTTP/2's in the same form.
enum ResponseHeadParser {
    /// The most header lines: with many more, `HTTPFields` would end the process.
    private static let maximumLines = 10_000

    struct Head {
        let version: String
        let status: Int
        let fields: HTTPFields
    }

    static func parse(_ head: CurlExchange.RawHead) throws(TransportError) -> Head {
        guard let head = head.bytes.withUnsafeBufferPointer({ read($0, isDecoded: head.isDecoded) }) else {
            throw TransportError(
                .malformedResponse, "the server's response has a malformed status line or header line, or too many of them")
        }
        return head
    }

    /// Parses a trailer section (RFC 9110, section 6.5).
    ///
    /// Ignores a malformed section, because recipients must cope with missing trailers anyway.
    static func trailers(_ bytes: [UInt8]) -> HTTPFields {
        bytes.withUnsafeBufferPointer { bytes in
            var rest = bytes[...]
            var fields = HTTPFields()
            while let line = nextLine(&rest) {
                if line.isEmpty { continue }
                guard fields.count < maximumLines, let field = field(line) else { return [:] }
                fields.append(field)
            }
            return fields
        }
    }

    /// Whether the chunked coding delimits the content; it may stand anywhere in Transfer-Encoding, as in libcurl.
    static func isChunked(_ head: CurlExchange.RawHead) -> Bool {
        head.bytes.withUnsafeBufferPointer { bytes in
            var rest = bytes[...]
            while let line = nextLine(&rest) {
                guard let colon = line.firstIndex(of: UInt8(ascii: ":")), line[..<colon].lowercased == "transfer-encoding" else { continue }
                let codings = line[(colon + 1)...].split(separator: UInt8(ascii: ","))
                if codings.contains(where: { OptionalWhitespace.trimmed($0).lowercased == "chunked" }) { return true }
            }
            return false
        }
    }

    private static func read(_ bytes: UnsafeBufferPointer<UInt8>, isDecoded: Bool) -> Head? {
        var rest = bytes[...]
        guard let statusLine = nextLine(&rest), let (version, status) = statusLineParts(statusLine) else { return nil }
        var fields = HTTPFields()
        fields.reserveCapacity(16)
        var (isEncoded, hasTransferCoding) = (false, false)
        while let line = nextLine(&rest) {
            guard fields.count < maximumLines, let field = field(line) else { return nil }
            if field.name == .contentEncoding { isEncoded = true }
            if field.name == .transferEncoding { hasTransferCoding = true }
            fields.append(field)
        }
        if isEncoded, isDecoded {
            // They describe the encoded content, which the caller never sees.
            fields[.contentEncoding] = nil
            fields[.contentLength] = nil
        }
        // Transfer-Encoding overrides it, and a server that passes the response on must remove it (RFC 9112, section 6.3).
        if hasTransferCoding { fields[.contentLength] = nil }
        return Head(version: version, status: status, fields: fields)
    }

    private static func field(_ line: Slice<UnsafeBufferPointer<UInt8>>) -> HTTPField? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
        else { return nil }
        let value = OptionalWhitespace.trimmed(line[(colon + 1)...])
        // A value's bytes are kept as they are (RFC 9110, section 5.5); ASCII is read as text, which takes a quarter of the time.
        return value.allSatisfy { $0 < 0x80 }
            ? HTTPField(name: name, value: String(decoding: value, as: UTF8.self)) : HTTPField(name: name, value: value)
    }

    private static func nextLine(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Slice<UnsafeBufferPointer<UInt8>>? {
        guard !rest.isEmpty else { return nil }
        let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
        var line = rest[..<end]
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
        rest = rest[min(end + 1, rest.endIndex)...]
        return line
    }

    private static func statusLineParts(_ line: Slice<UnsafeBufferPointer<UInt8>>) -> (String, Int)? {
        guard let space = line.firstIndex(of: UInt8(ascii: " ")), line.endIndex - space >= 4 else { return nil }
        var status = 0
        for byte in line[(space + 1)...(space + 3)] {
            guard (0x30...0x39).contains(byte) else { return nil }
            status = status * 10 + Int(byte - 0x30)
        }
        // Three digits and no more (RFC 9112, section 4).
        guard line.endIndex == space + 4 || line[space + 4] == UInt8(ascii: " ") else { return nil }
        return (String(decoding: line[..<space], as: UTF8.self), status)
    }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
    fileprivate var lowercased: String { String(decoding: self, as: UTF8.self).lowercased() }
}
