/// The media types of Oblivious HTTP (RFC 9458 section 9, draft-ietf-ohai-chunked-ohttp section 6).
public enum OHTTPMediaType {
    /// An encapsulated request.
    public static let request = "message/ohttp-req"
    /// An encapsulated response.
    public static let response = "message/ohttp-res"
    /// An encapsulated request in chunks.
    public static let chunkedRequest = "message/ohttp-chunked-req"
    /// An encapsulated response in chunks.
    public static let chunkedResponse = "message/ohttp-chunked-res"
    /// A list of key configurations.
    public static let keys = "application/ohttp-keys"

    /// Whether the value of a Content-Type field names `mediaType`.
    ///
    /// Case and parameters do not matter (RFC 9110 section 8.3.1).
    ///
    /// - Parameters:
    ///   - contentType: the field's value.
    ///   - mediaType: one of the constants here.
    /// - Returns: true when it does.
    public static func matches(_ contentType: String, _ mediaType: String) -> Bool {
        let type = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }
        guard let first = type.firstIndex(where: { !isWhitespace($0) }), let last = type.lastIndex(where: { !isWhitespace($0) }) else {
            return false
        }
        return type[first...last].elementsEqual(mediaType.utf8) { lowercased($0) == lowercased($1) }
    }
}

/// The problem types that a gateway answers with (RFC 9458 section 5.3 and 6.5.2), for `application/problem+json`.
public enum OHTTPProblemType {
    /// The request was encapsulated with a key configuration that the gateway does not accept.
    public static let key = "https://iana.org/assignments/http-problem-types#ohttp-key"
    /// The Date field of the request is missing or too far from the gateway's clock.
    public static let date = "https://iana.org/assignments/http-problem-types#date"
}

/// Space and horizontal tab.
func isWhitespace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

/// ASCII letters in lower case, every other byte as it is.
func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }
