import HTTPTypes

/// Reads the header section that libcurl handed over line by line (RFC 9112 section 4 and 5; libcurl writes HTTP/2's the same way).
enum ResponseHeadParser {
    static func parse(_ head: CurlExchange.RawHead) throws(TransportError) -> (version: String, status: Int, fields: HTTPFields) {
        var fields = HTTPFields()
        var version = ""
        var status = 0
        var isFirst = true
        var isEncoded = false
        for line in head.bytes.split(separator: 0x0A) {
            var line = line
            if line.last == 0x0D { line = line.dropLast() }
            if isFirst {
                isFirst = false
                let words = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
                guard words.count >= 2, let code = Int(String(decoding: words[1], as: UTF8.self)), (100...999).contains(code) else {
                    throw malformed("status line")
                }
                version = String(decoding: words[0], as: UTF8.self)
                status = code
                continue
            }
            guard let colon = line.firstIndex(of: 0x3A) else { throw malformed("header line without a colon") }
            guard let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self)) else {
                throw malformed("header field name")
            }
            let value = trimmed(line[line.index(after: colon)...])
            if name == .contentEncoding { isEncoded = true }
            fields.append(HTTPField(name: name, value: String(decoding: value, as: UTF8.self)))
        }
        guard !isFirst else { throw malformed("empty head") }
        if isEncoded, head.isDecoded {
            // They described what was sent, which nobody sees.
            fields[.contentEncoding] = nil
            fields[.contentLength] = nil
        }
        return (version, status, fields)
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var value = value
        while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
        while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
        return value
    }

    private static func malformed(_ what: String) -> TransportError {
        TransportError(.malformedResponse, "the server's response has a malformed \(what)")
    }
}
