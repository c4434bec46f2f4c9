import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPRecording
import HTTPTypes
import TestTags
import Testing

@Suite(.tags(.sockets)) struct ReplayServerTests {
    private let folder: TemporaryFolder
    private let recording: URL

    init() throws {
        folder = try TemporaryFolder()
        recording = folder.url.appending(path: "recording", directoryHint: .isDirectory)
    }

    private func request(_ text: String, _ method: HTTPRequest.Method = .get, body: String? = nil) throws -> TransportRequest {
        TransportRequest(
            url: try TransportURL(text), method: method, body: body.map { .bytes(Array($0.utf8)) } ?? .none,
            policy: try TrustPolicy(rules: HostMap([]), defaultAnchors: TrustAnchors(pem: TestPKI.root().pem)))
    }

    @Test("A recording of a real server is served to a client that asks another host")
    func served() async throws {
        let origin = try await TestHTTPServer.start(certificate: nil) { request in
            TestResponse(
                request.path == "/missing" ? .notFound : .ok, headerFields: [.contentType: "text/x"],
                text: "\(request.method) \(request.target) \(String(decoding: try await request.body.collect(), as: UTF8.self))")
        }
        let curl = try CurlTransport()
        let recorder = try RecordingTransport(wrapping: curl, into: recording)
        for path in ["/a?q=secret", "/missing"] {
            _ = try await recorder.send(request(origin.url + path)).body.collect(upTo: 1_000)
        }
        for body in ["[1]", "[2]"] { _ = try await recorder.send(request(origin.url + "/p", .post, body: body)).body.collect(upTo: 1_000) }
        await origin.stop()

        let server = try await ReplayServer.start(from: recording, comparingBodiesBy: .standard)
        func answer(_ path: String, _ method: HTTPRequest.Method = .get, body: String? = nil) async throws -> (Int, String) {
            let response = try await curl.send(request(server.url + path, method, body: body))
            return (response.status, String(decoding: try await response.body.collect(upTo: 10_000), as: UTF8.self))
        }
        do {
            // A value of fewer than eight bytes stays in a body.
            #expect(try await answer("/a?q=secret") == (200, "GET /a?q=secret "))
            #expect(try await answer("/missing") == (404, "GET /missing "))
            #expect(try await answer("/p", .post, body: "[2]") == (200, "POST /p [2]"))
            #expect(try await answer("/p", .post, body: "[1]") == (200, "POST /p [1]"))
            #expect(try await answer("/unknown").0 == 404)
            for name in try FileManager.default.contentsOfDirectory(atPath: recording.path) where name.hasSuffix(".body") {
                try FileManager.default.removeItem(at: recording.appending(path: name))
            }
            let damaged = try await answer("/a?q=secret")
            #expect(damaged.0 == 500 && damaged.1.contains("recordingMissing"))
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test("A missing recording is an error of the start")
    func missing() async throws {
        await #expect(throws: TransportError(.recordingMissing, "")) { try await ReplayServer.start(from: recording) }
    }
}
