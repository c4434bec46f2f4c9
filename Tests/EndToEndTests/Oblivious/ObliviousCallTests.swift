import ApproovGateway
import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import OHTTP
import TestTags
import Testing

/// Calls to an API behind a relay and a gateway.
@Suite("An attested call over Oblivious HTTP", .tags(.sockets), .timeLimit(.minutes(5)))
struct ObliviousCallTests {
    /// Runs a test with a relay and a gateway in front of the world's API.
    private func withPath(chunked: Bool? = nil, _ body: (LoopbackWorld, ObliviousPath) async throws -> Void) async throws {
        try await LoopbackWorld.with { world in
            let path = try await ObliviousPath.start(world, chunked: chunked)
            do {
                try await body(world, path)
            } catch {
                try? await path.stop()
                throw error
            }
            try await path.stop()
        }
    }

    @Test("An oblivious call is answered, and its token contains neither device nor address", arguments: [nil, true, false])
    func answered(chunked: Bool?) async throws {
        try await withPath(chunked: chunked) { world, _ in
            let app = try await world.app()
            let answer = try await app.get(world.url("/shapes"))
            #expect(answer.status == 200)
            let token = try Token(answer.text)
            #expect(token.isSigned(with: world.authority.store.accountSecret.bytes))
            #expect(token.claims["pay"] as? String == Token.pay("Bearer alice"))
            for claim in ["did", "ip", "ipk"] { #expect(token.claims[claim] == nil, "\(claim)") }
            let (bytes, head) = try await app.session.bytes(for: Self.request(world))
            var text: [UInt8] = []
            for try await byte in bytes { text.append(byte) }
            #expect(head.statusCode == 200 && String(decoding: text, as: UTF8.self) == answer.text)
        }
    }

    @Test("A first upload of 3 MiB reaches the API completely and exactly once")
    func firstUpload() async throws {
        try await withPath { world, path in
            let app = try await world.app()
            let file = world.folder.file("body")
            try Data(count: 3 << 20).write(to: file)
            var request = try Self.request(world)
            request.httpMethod = "POST"
            let (data, response) = try await app.session.upload(for: request, fromFile: file)
            #expect(response.statusCode == 200)
            #expect(String(decoding: data, as: UTF8.self) == String(3 << 20))
            #expect(world.api.counters.requests == 1)
        }
    }

    @Test("When the gateway's keys change without overlap, a call gets the new configuration and succeeds")
    func rotation() async throws {
        try await withPath { world, path in
            let app = try await world.app { $0.limits.configurationCheckInterval = .zero }
            #expect(try await app.get(world.url("/shapes")).status == 200)
            // No overlap: the old key is gone at once, and the gateway cannot open a call that was sealed to it.
            _ = try path.keyFile.rotate(overlap: .zero)
            try await path.publish(to: world)
            try await path.waitForKeys()
            let before = app.service.configuration.version
            #expect(try await app.get(world.url("/shapes")).status == 200)
            #expect(app.service.configuration.version > before)
        }
    }

    @Test("During the overlap, a call sealed to the old key succeeds without a new configuration")
    func overlap() async throws {
        try await withPath { world, path in
            let app = try await world.app()
            #expect(try await app.get(world.url("/shapes")).status == 200)
            _ = try path.keyFile.rotate(overlap: .seconds(600))
            try await path.waitForKeys()
            let before = app.service.configuration.version
            #expect(try await app.get(world.url("/shapes")).status == 200)
            #expect(app.service.configuration.version == before)
        }
    }

    @Test("A call to a target that the gateway does not allow gets 403 and does not reach the API")
    func otherTarget() async throws {
        try await withPath { world, _ in
            let app = try await world.app()
            let requests = world.api.counters.requests
            let other = try await app.get(world.url("/shapes", port: 1))
            #expect(other.status == 403)
            #expect(world.api.counters.requests == requests)
        }
    }

    @Test("A thousand calls from 64 concurrent workers all get their own answers")
    func load() async throws {
        try await withPath { world, _ in
            let app = try await world.app()
            let url = try world.url("/shapes")
            let tokens = try await withThrowingTaskGroup { group in
                for worker in 0..<64 {
                    group.addTask { () -> Int in
                        var answered = 0
                        for number in stride(from: worker, to: 1_000, by: 64) {
                            let authorization = "Bearer user \(number % 8)"
                            let answer = try await app.get(url, authorization: authorization)
                            guard answer.status == 200, try Token(answer.text).claims["pay"] as? String == Token.pay(authorization) else {
                                continue
                            }
                            answered += 1
                        }
                        return answered
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(tokens == 1_000)
            #expect(world.api.counters.requests == 1_000)
        }
    }

    @Test("Without the relay, a call fails with a networking error and is not made directly")
    func noRelay() async throws {
        try await withPath { world, path in
            let app = try await world.app()
            try await path.relay.stop()
            let error = try await app.failure(of: world.url("/shapes"))
            #expect(error.code == .networkingError)
            #expect(world.api.counters.requests == 0)
        }
    }

    @Test("Without the gateway, a call fails with an oblivious error that contains status 502")
    func noGateway() async throws {
        try await withPath { world, path in
            let app = try await world.app()
            try await path.gateway.stop()
            let error = try await app.failure(of: world.url("/shapes"))
            #expect(error.code == .obliviousError && error.description.contains("502"))
        }
    }

    private static func request(_ world: LoopbackWorld) throws -> URLRequest {
        var request = URLRequest(url: try world.url("/shapes"))
        request.setValue("Bearer alice", forHTTPHeaderField: LoopbackWorld.bindingHeader)
        return request
    }
}
