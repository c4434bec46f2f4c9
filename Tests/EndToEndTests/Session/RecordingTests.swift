import Approov
import ApproovAuthority
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPRecording
import HTTPTypes
import TestTags
import Testing

/// What an attested app sends and gets, in files that can be committed.
@Suite("Recordings", .tags(.sockets, .processes, .slow), .timeLimit(.minutes(5)))
struct RecordingTests {
    @Test("A recording of an attested exchange holds no token, credential or secret, and replays without a network")
    func attested() async throws {
        try await LoopbackWorld.with { world in
            try await world.authority.store.setSecureString("canary-secure-string", for: "maps-key")
            let recording = world.folder.url.appending(path: "recording", directoryHint: .isDirectory)
            let seen = Shared<[TestRequest]>([])
            let api = try await world.server(key: world.keys[0]) { request in
                seen.change { $0.append(request) }
                // This API repeats all it gets.
                let echo = request.headerFields.map { "\($0.name): \($0.value)\n" }.joined() + request.target
                return TestResponse(headerFields: [.setCookie: "id=canary-session"], text: echo)
            }
            do {
                var configuration = ApproovSessionConfiguration()
                configuration.substitutions = [
                    try Substitution(hosts: [LoopbackWorld.apiHost], headers: ["Api-Key": ""], queryParameters: ["key"])
                ]
                configuration.signing = .installation()
                configuration.transport = try RecordingTransport(wrapping: CurlTransport(), into: recording)
                let settings = configuration
                let app = try await world.app { $0.configuration = settings }
                var request = URLRequest(url: try world.url("/echo?key=maps-key&page=2", port: api.port))
                request.setValue("Bearer canary-alice", forHTTPHeaderField: LoopbackWorld.bindingHeader)
                request.setValue("maps-key", forHTTPHeaderField: "Api-Key")
                let (data, response) = try await app.session.data(for: request)
                #expect(response.statusCode == 200)
                let sent = try #require(seen.value.first)
                let token = try #require(sent.headerFields[.approovToken])
                let body = String(decoding: data, as: UTF8.self)
                // The API did get them, and repeated them.
                #expect(body.contains(token) && body.contains("canary-secure-string") && body.contains("canary-alice"))
                let signature = try #require(HTTPField.Name("Signature").flatMap { sent.headerFields[$0] })

                var everything = ""
                for name in try FileManager.default.contentsOfDirectory(atPath: recording.path) {
                    everything += name + String(decoding: try Data(contentsOf: recording.appending(path: name)), as: UTF8.self)
                }
                #expect(everything.contains("page=2") && everything.contains("Approov-Token: REDACTED-"))
                for secret in [token, "canary", signature] + token.split(separator: ".").map(String.init) {
                    #expect(!everything.contains(secret))
                }
                #expect(everything.firstRange(of: "eyJ") == nil)

                // The app attests, so it does not take answers from files.
                let replay = try ReplayTransport(from: recording)
                #expect(throws: ApproovError(.initializationError, "")) {
                    try ApproovSession(service: app.service, configuration: .over(replay))
                }
                let local = try ApproovSession(service: nil, configuration: .over(replay))
                var again = URLRequest(url: try world.url("/echo?page=2&key=maps-key", port: api.port))
                again.setValue("Bearer another", forHTTPHeaderField: LoopbackWorld.bindingHeader)
                // The recorded value of "key" was the secret; here its placeholder stands in the same place.
                #expect(try await local.data(for: again).1.statusCode == 200)
                again.url = try world.url("/other", port: api.port)
                let error = try #require(await #expect(throws: ApproovError.self) { try await local.data(for: again) })
                #expect(error.code == .recordingMissing && !error.isRetryable)
            } catch {
                await api.stop()
                throw error
            }
            await api.stop()
        }
    }
}
