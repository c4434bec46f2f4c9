import ApproovTesting
import Foundation
import HTTPClient
import HTTPRecording
import HTTPTypes
import Testing

/// The committed recording in Examples, which is in the format of the release that introduced recordings.
@Suite struct SampleRecordingTests {
    private static let sample = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Examples/recordings/notes", directoryHint: .isDirectory).standardized
    private static let secrets = ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl", "alices-access-token"]
    private static let notes = #"[{"id":1,"text":"Buy bread","pictureBytes":2048},{"id":2,"text":"Call Bob"}]"#

    /// Records what the sample has, from a server in this process.
    private func record(_ site: Site) async throws {
        let fields: HTTPFields = [
            .accept: "application/json", .authorization: "Bearer \(Self.secrets[1])",
            try #require(HTTPField.Name("Approov-Token")): Self.secrets[0],
        ]
        var json = fields
        json[.contentType] = "application/json"
        let requests = [
            try TransportRequest("https://api.localhost:9443/notes", .get, fields),
            try TransportRequest("https://api.localhost:9443/notes", .post, json, body: .bytes(Array(#"{"text":"Buy rye"}"#.utf8))),
            try TransportRequest("https://api.localhost:9443/notes/3", .delete, fields),
        ]
        try await site.record(requests) { request in
            let fields: HTTPFields = [.contentType: "application/json", .setCookie: "session=\(Self.secrets[1])"]
            return switch request.method {
            case .get: TransportResponse(Self.notes, to: request, fields)
            case .post: TransportResponse(#"{"id":3,"text":"Buy rye"}"#, to: request, status: 201, fields)
            default: TransportResponse("", to: request, status: 204)
            }
        }
    }

    /// The text of a file without the redacted header fields' digits, which differ from one recording to the next.
    private static func text(_ folder: URL, _ name: String) throws -> String {
        try String(contentsOf: folder.appending(path: name), encoding: .utf8).replacing(/: REDACTED-[0-9a-f]{6}/, with: ": REDACTED")
    }

    @Test("What is recorded today has the bytes of the committed recording, but for redacted header fields")
    func writing() async throws {
        let site = try Site()
        try await record(site)
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.sample.path).sorted()
        #expect(try site.names == names)
        for name in names {
            #expect(try Self.text(site.recording, name) == Self.text(Self.sample, name), "\(name)")
        }
    }

    @Test("The committed recording answers its requests, and has none of the secrets")
    func reading() async throws {
        let transport = try ReplayTransport(from: Self.sample)
        let list = try await transport.send(TransportRequest("https://api.localhost:9443/notes"))
        #expect(try await list.text == Self.notes)
        let added = try await transport.send(
            TransportRequest(
                "https://api.localhost:9443/notes", .post, [.contentType: "application/json"],
                body: .bytes(Array(#"{"text":"Buy rye"}"#.utf8))))
        #expect(added.status == 201)
        #expect(try await transport.send(TransportRequest("https://api.localhost:9443/notes/3", .delete)).status == 204)
        await #expect(throws: TransportError(.recordingMissing, "")) {
            _ = try await transport.send(TransportRequest("https://api.localhost:9443/notes/4", .delete))
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: Self.sample.path) {
            let text = String(decoding: try Data(contentsOf: Self.sample.appending(path: name)), as: UTF8.self)
            for secret in Self.secrets { #expect(!text.contains(secret), "\(name)") }
        }
    }
}
