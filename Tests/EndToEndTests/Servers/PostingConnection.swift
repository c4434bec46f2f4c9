import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Testing

/// Posts to one server and sends each request once.
protocol PostingConnection: Sendable {
    /// Posts a body.
    /// - Returns: The answer; nil if no server accepts connections any more.
    /// - Throws: The error of a request that may have been executed.
    func post(_ path: String, type: String, _ body: [UInt8]) async throws -> (status: Int, body: [UInt8])?

    /// Closes the connection.
    func end() async
}

/// Posts with the transport of our clients, which offers HTTP/2 to every server with TLS.
struct CurlConnection: PostingConnection {
    private let transport: CurlTransport
    private let policy: TrustPolicy
    private let url: String
    private let version: String

    /// - Parameters:
    ///   - url: The server's URL, without a slash at its end.
    ///   - root: The root of its certificate, PEM.
    ///   - version: The version in which all of its answers must come, such as "HTTP/2".
    /// - Throws: When the root is not a certificate.
    init(_ url: String, root: String, version: String) throws {
        transport = try CurlTransport()
        policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root))
        (self.url, self.version) = (url, version)
    }

    func post(_ path: String, type: String, _ body: [UInt8]) async throws -> (status: Int, body: [UInt8])? {
        do {
            let response = try await transport.send(
                TransportRequest(
                    url: try TransportURL(url + path), method: .post, headerFields: [.contentType: type], body: .bytes(body), policy: policy
                ))
            #expect(response.version == version)
            return (response.status, try await response.body.collect(upTo: 1 << 20))
        } catch let error as TransportError where error.code == .connectionFailed {
            return nil
        }
    }

    func end() { transport.shutdown() }
}

/// The HTTP versions of our servers with TLS.
enum HTTPVersion: CaseIterable, CustomStringConvertible {
    case http1, http2

    var description: String { self == .http1 ? "HTTP/1.1" : "HTTP/2" }

    /// Makes a client's own connection.
    /// - Parameters:
    ///   - url: The URL of a server on 127.0.0.1, without a slash at its end.
    ///   - root: The root of its certificate, PEM.
    /// - Returns: A connection that is not open yet.
    /// - Throws: When the root is not a certificate.
    func connection(to url: String, root: String) throws -> any PostingConnection {
        switch self {
        case .http1: try HTTP1Connection(port: URL(string: url)?.port ?? 0, root: root)
        case .http2: try CurlConnection(url, root: root, version: description)
        }
    }
}
