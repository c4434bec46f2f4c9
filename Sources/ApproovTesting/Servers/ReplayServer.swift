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
/// Requests match by method, path and query; scheme, host and port of the recorded URL do not count. URLs in `Location`,
/// `Content-Location` and `Link` are served without scheme, host and port if the recording has an exchange with the same ones, so that
/// clients stay on this server. Other URLs are served as recorded: a client that follows them leaves this server, as it does with URLs in
/// bodies.
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
    ///   - redaction: Compares the bodies of requests too, up to 16 MiB, by the rules with which they were recorded; `nil` ignores bodies.
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
            let body = try await comparedBody(of: request, isCompared: redaction != nil)
            let recorded: TransportResponse
            do {
                recorded = try await transport.send(
                    TransportRequest(
                        url: try TransportURL("http://localhost" + request.target), method: request.method,
                        headerFields: request.headerFields, body: body, policy: policy))
            } catch let error as TransportError {
                return TestResponse(.internalServerError, text: "\(error)\n")
            }
            // Without content, the length is that of the content that GET gets (RFC 9110, section 8.6).
            let keepsLength = request.method == .head || recorded.status == 304
            return TestResponse(
                HTTPResponse.Status(code: recorded.status), headerFields: served(recorded.headerFields, keepsLength: keepsLength),
                body: try await recorded.body.collect(upTo: .max))
        }
        return ReplayServer(server)
    }

    /// The request's body as far as a replay compares it; reads it to its end in any case, because some clients wait for that.
    private static func comparedBody(of request: TestRequest, isCompared: Bool) async throws -> RequestBody {
        var bytes: [UInt8] = []
        var isWhole = isCompared
        for try await piece in request.body where isWhole {
            isWhole = piece.count <= BodyDigest.maximumBytes - bytes.count
            if isWhole { bytes += piece }
        }
        guard isCompared, isWhole else {
            // A stream has no hash, so it matches as the recorded request did.
            return isCompared ? .stream(length: nil, RequestBodyStream(AsyncStream<[UInt8]> { $0.finish() })) : .none
        }
        return bytes.isEmpty ? .none : .bytes(bytes)
    }

    /// The fields that a server may repeat: it frames the message itself (RFC 9110, section 7.6.1).
    private static func served(_ fields: HTTPFields, keepsLength: Bool) -> HTTPFields {
        HTTPFields(
            fields.filter { field in
                if field.name == .contentLength { return keepsLength }
                return ![.connection, .transferEncoding, .upgrade, .trailer].contains(field.name)
                    && field.name.canonicalName != "keep-alive"
            })
    }

    /// Stops listening, lets requests in flight end, and closes the remaining connections.
    /// - Parameter grace: The time that requests in flight may take.
    public func stop(grace: Duration = .milliseconds(500)) async { await server.stop(grace: grace) }
}
