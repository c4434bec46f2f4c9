internal import Hummingbird
internal import MessageSignatures

/// Where clients reach this server: the part of `@target-uri` that a request does not carry reliably.
struct SignatureTarget: Sendable {
    private let scheme: String
    /// Nil: the request's Host counts.
    private let authority: String?
    private let pathPrefix: String

    /// - Throws: ``TokenCheckError`` with code `invalidConfiguration` when the URL is not one of http or https, or has a query.
    init(publicURL: String?) throws {
        guard let publicURL else {
            (scheme, authority, pathPrefix) = ("https", nil, "")
            return
        }
        guard let url = try? TargetURI(publicURL), url.query == nil else {
            throw TokenCheckError(
                .invalidConfiguration, "publicURL must be the server's URL as clients write it, such as https://api.example.com")
        }
        scheme = url.scheme
        authority = url.authority
        pathPrefix = url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
    }

    /// The request as its client signed it.
    func request(_ request: Request) throws(MessageSignatureError) -> SignableRequest {
        let path = request.head.path ?? ""
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw MessageSignatureError(.invalidMessage, "the request line has no path that begins with a slash")
        }
        let target = try TargetURI(scheme: scheme, authority: authority ?? request.head.authority ?? "", path: pathPrefix + path)
        return try SignableRequest(method: request.method.rawValue, target: target, fields: request.headers)
    }
}
