package import HTTPTypes

/// The media types of Oblivious HTTP (RFC 9458, section 9; draft-ietf-ohai-chunked-ohttp, section 8).
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

    /// The header fields of a chunked message of this type.
    ///
    /// They include Incremental, which asks proxies to forward chunks as they arrive (draft-ietf-ohai-chunked-ohttp, section 3).
    package static func chunkedFields(_ type: String) -> HTTPFields {
        var fields: HTTPFields = [.contentType: type]
        if let incremental = HTTPField.Name("Incremental") { fields[incremental] = "?1" }
        return fields
    }
}
