import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPRecording
import HTTPTypes
import TestTags
import Testing

// Acceptance list: S3.7
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

    /// Writes an exchange of the recording, with this text as the response's body.
    private func write(
        _ name: String, _ url: String, _ method: String = "GET", status: Int = 200, fields: [String] = [], body: String? = nil
    ) throws {
        try FileManager.default.createDirectory(at: recording, withIntermediateDirectories: true)
        var response: [String: Any] = ["status": status, "fields": fields]
        if let body {
            try Data(body.utf8).write(to: recording.appending(path: "\(name).body"))
            response["body"] = "\(name).body"
        }
        let head: [String: Any] = ["request": ["method": method, "url": url], "response": response]
        try JSONSerialization.data(withJSONObject: head).write(to: recording.appending(path: "\(name).json"))
    }

    @Test("URLs of recorded origins are served as paths, so that clients stay on the server, and others as they are")
    func locations() async throws {
        let link = try #require(HTTPField.Name("Link"))
        let references = [
            ("https://API.test:443/b?page=2#c", "/b?page=2#c"), ("//api.test/b", "/b"), ("https://api.test", "/"), ("../b", "../b"),
            ("https://api.test//evil.test/b", "/.//evil.test/b"), ("http://api.test/b", "http://api.test/b"),
            ("https://api.test:8443/b", "https://api.test:8443/b"), ("https://b.test/b", "https://b.test/b"),
            ("https://cdn.test/c", "/c"), ("//cdn.test/c", "/c"), ("http://cdn.test/c", "http://cdn.test/c"),
        ]
        try write("cdn", "https://cdn.test/c")
        for (number, (reference, _)) in references.enumerated() {
            let fields = [
                "Location: \(reference)", "Content-Location: \(reference)", "Link: <\(reference)>; rel=\"next\", </z>; rel=last",
            ]
            try write("\(number)", "https://api.test/\(number)", status: 307, fields: fields)
        }
        let server = try await ReplayServer.start(from: recording)
        let curl = try CurlTransport()
        do {
            for (number, (_, local)) in references.enumerated() {
                let fields = try await curl.send(request("\(server.url)/\(number)")).headerFields
                #expect(fields[.location] == local && fields[.contentLocation] == local)
                #expect(fields[link] == "<\(local)>; rel=\"next\", </z>; rel=last")
            }
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test("A client follows a recorded redirect from http to https, and stays on the server")
    func upgrade() async throws {
        try write("1", "http://api.test/a", status: 301, fields: ["Location: https://api.test/a"])
        try write("2", "https://api.test/a", body: "secure")
        let server = try await ReplayServer.start(from: recording)
        let curl = try CurlTransport()
        do {
            let redirect = try await curl.send(request("\(server.url)/a"))
            #expect(redirect.status == 301)
            let location = try #require(redirect.headerFields[.location])
            try #require(location.hasPrefix("/"))
            #expect(try await curl.send(request(server.url + location)).status == 200)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test("The answer to HEAD has the recorded length")
    func head() async throws {
        try write("1", "https://api.test/a", "HEAD", fields: ["Content-Length: 1234"])
        try write("2", "https://api.test/a", fields: ["Content-Length: 1234"], body: "edited")
        let server = try await ReplayServer.start(from: recording)
        let curl = try CurlTransport()
        do {
            let head = try await curl.send(request("\(server.url)/a", .head))
            #expect(head.status == 200 && head.headerFields[.contentLength] == "1234")
            #expect(try await curl.send(request("\(server.url)/a")).headerFields[.contentLength] == "6")
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test("An upload that is larger than what is compared is answered, with and without a comparison", arguments: [true, false])
    func largeUpload(isCompared: Bool) async throws {
        try write("1", "https://api.test/a", "PUT", status: 201, body: "done")
        let server = try await ReplayServer.start(from: recording, comparingBodiesBy: isCompared ? RecordingRedaction.standard : nil)
        let curl = try CurlTransport()
        do {
            var upload = try request("\(server.url)/a", .put)
            upload.body = .bytes([UInt8](repeating: 0x61, count: 16 << 20 + 1))
            let response = try await curl.send(upload)
            #expect(response.status == 201)
            #expect(try await response.body.collect(upTo: 10) == Array("done".utf8))
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
