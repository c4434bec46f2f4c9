import CertificatePinning
public import Foundation
import HTTPClient
public import HTTPRecording
import HTTPTypes

/// A server on loopback that answers from a recording, for other programs and for tests with real sockets.
///
///     let server = try await ReplayServer.start(from: URL(filePath: "recordings"))
///     …                                // requests to server.url
///     await server.stop()
///
/// Requests match by method, path and query; scheme, host and port of the recorded URL do not count.
public final class ReplayServer: Sendable {
    /// The URL of the server's root with `localhost` as its host, without a trailing slash.
    public let url: String
    /// The port that the system picked.
    public let port: Int
    private let server: TestHTTPServer

    private init(_ server: TestHTTPServer) {
        url = server.url
        port = server.port
        self.server = server
    }

    /// Starts a server and waits until it listens.
    /// - Parameters:
    ///   - folder: The folder of the recording.
    ///   - certificate: The certificate whose chain and key it serves; `nil` for plain HTTP/1.1.
    ///   - redaction: Compares the bodies of requests too, by the rules with which they were recorded; `nil` ignores bodies.
    /// - Returns: The running server; ``stop(grace:)`` ends it. It answers a request without a recorded response with status 404, and
    ///   one whose recorded body is damaged with status 500; the text says why.
    /// - Throws: `TransportError` with code `recordingMissing`, which names the folder or file that is missing or damaged; when the server
    ///   cannot listen.
    public static func start(
        from folder: URL, certificate: TestCertificate? = nil, comparingBodiesBy redaction: RecordingRedaction? = nil
    ) async throws -> ReplayServer {
        let transport = try ReplayTransport(
            from: folder, unmatched: .respond(status: 404), comparingBodiesBy: redaction, ignoringOrigin: true)
        // A replay evaluates no certificate, so any root will do.
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: TestPKI.root().pem))
        let server = try await TestHTTPServer.start(certificate: certificate) { request in
            let body = try await request.body.collect()
            let recorded: TransportResponse
            do {
                recorded = try await transport.send(
                    TransportRequest(
                        url: try TransportURL("http://localhost" + request.target), method: request.method,
                        headerFields: request.headerFields, body: body.isEmpty ? .none : .bytes(body), policy: policy))
            } catch let error as TransportError {
                return TestResponse(.internalServerError, text: "\(error)\n")
            }
            return TestResponse(
                HTTPResponse.Status(code: recorded.status), headerFields: served(recorded.headerFields),
                body: try await recorded.body.collect(upTo: .max))
        }
        return ReplayServer(server)
    }

    /// The fields that a server may repeat: it frames the message itself (RFC 9110, section 7.6.1).
    private static func served(_ fields: HTTPFields) -> HTTPFields {
        HTTPFields(
            fields.filter { field in
                ![.connection, .contentLength, .transferEncoding, .upgrade, .trailer].contains(field.name)
                    && field.name.canonicalName != "keep-alive"
            })
    }

    /// Stops listening, lets requests in flight end, and closes the remaining connections.
    /// - Parameter grace: The time that requests in flight may take.
    public func stop(grace: Duration = .milliseconds(500)) async { await server.stop(grace: grace) }
}
