import Approov
import CertificatePinning
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPTypes
import TestTags
import Testing

/// Redirects by a protected API, and other spellings of its URL.
@Suite("Redirects and spellings", .tags(.sockets), .timeLimit(.minutes(5)))
struct RedirectTests {
    /// The protected API's URL that redirects the app to `target`.
    private func redirect(_ world: LoopbackWorld, to target: String) throws -> URL {
        let allowed = CharacterSet.alphanumerics
        return try world.url("/redirect?to=\(target.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")")
    }

    @Test("A redirect to an unprotected host carries neither token nor Authorization")
    func toOpenHost() async throws {
        try await LoopbackWorld.with { world in
            let seen = Shared<[HTTPFields]>([])
            let open = try await world.server { request in
                seen.change { $0.append(request.headerFields) }
                return TestResponse(text: "open")
            }
            let app = try await world.app()
            let answer = try await app.get(redirect(world, to: "https://\(LoopbackWorld.openHost):\(open.port)/"))
            #expect(answer.text == "open")
            let fields = try #require(seen.value.first)
            #expect(!fields.contains(.approovToken))
            #expect(!fields.contains(.authorization))
            #expect(!fields.contains { $0.value.contains("alice") || $0.value.hasPrefix("ey") })
            await open.stop()
        }
    }

    @Test("A redirect to a protected host carries that host's token, bound to the credential of the interceptor")
    func toProtectedHost() async throws {
        try await LoopbackWorld.with { world in
            let seen = Shared<[HTTPFields]>([])
            let other = try await world.server(key: world.keys[0]) { request in
                seen.change { $0.append(request.headerFields) }
                return TestResponse(text: "other")
            }
            let app = try await world.app { $0.interceptors = [SignIn()] }
            let target = "https://\(LoopbackWorld.otherHost):\(other.port)/"
            #expect(try await app.get(redirect(world, to: target), authorization: nil).text == "other")
            let fields = try #require(seen.value.first)
            #expect(fields[.authorization] == "Bearer for \(LoopbackWorld.otherHost)")
            let token = try Token(try #require(fields[.approovToken]))
            #expect(token.claims["aud"] as? String == LoopbackWorld.otherHost)
            #expect(token.claims["pay"] as? String == Token.pay("Bearer for \(LoopbackWorld.otherHost)"))
            await other.stop()
        }
    }

    @Test("A redirect to an impostor of a protected host is refused before any byte is sent to it")
    func toImpostor() async throws {
        try await LoopbackWorld.with { world in
            let impostor = try await world.impostor()
            let app = try await world.app { $0.interceptors = [SignIn()] }
            let error = try await app.failure(
                of: redirect(world, to: "https://\(LoopbackWorld.otherHost):\(impostor.port)/"), authorization: nil)
            #expect(error.refusal?.reason == .pinMismatch)
            #expect(impostor.receivedCount == 0)
            await impostor.stop()
        }
    }

    @Test("A redirect to plain HTTP is refused without a connection", arguments: [LoopbackWorld.apiHost, LoopbackWorld.openHost])
    func toPlainHTTP(_ host: String) async throws {
        try await LoopbackWorld.with { world in
            let plain = try await RawServer.start { _ in }
            let app = try await world.app()
            let error = try await app.failure(of: redirect(world, to: "http://\(host):\(plain.port)/"))
            #expect([.redirectRefused, .pinningError].contains(error.code))
            #expect(plain.counters.connections == 0)
            await plain.stop()
        }
    }

    @Test(
        "A redirect to an ambiguous or unsupported URL is refused without a connection",
        arguments: [
            "https://\(LoopbackWorld.apiHost)@\(LoopbackWorld.openHost):PORT/", "https://user:secret@\(LoopbackWorld.openHost):PORT/",
            "https://open%2Elocalhost:PORT/", "https://2130706433:PORT/", "https://0x7f000001:PORT/", "https://127.1:PORT/",
            "https://open.localhost\\@evil.test:PORT/", "ftp://\(LoopbackWorld.openHost):PORT/", "https://open..localhost:PORT/",
        ])
    func toOddURL(_ target: String) async throws {
        try await LoopbackWorld.with { world in
            let open = try await world.server { _ in TestResponse(text: "reached") }
            let app = try await world.app()
            let error = try await app.failure(of: redirect(world, to: target.replacingOccurrences(of: "PORT", with: "\(open.port)")))
            #expect([.redirectRefused, .badRequest].contains(error.code), "\(error)")
            #expect(!error.description.contains("secret"))
            #expect(open.counters.connections == 0)
            await open.stop()
        }
    }

    @Test(
        "A protected host in another spelling is still pinned and called with its token",
        arguments: ["API.Test.LocalHost", "api.test.localhost."])
    func spelledOtherwise(_ host: String) async throws {
        try await LoopbackWorld.with { world in
            let impostor = try await world.impostor()
            let app = try await world.app()
            #expect(try await app.get(world.url("/shapes", host: host)).status == 200)
            #expect(try await app.failure(of: world.url("/shapes", host: host, port: impostor.port)).refusal?.reason == .pinMismatch)
            #expect(impostor.receivedCount == 0)
            await impostor.stop()
        }
    }

    @Test(
        "A call to a URL with user info or a percent-encoded or numeric host fails without a connection",
        arguments: ["https://user:secret@api.test.localhost:PORT/", "https://api%2Etest.localhost:PORT/", "https://2130706433:PORT/"])
    func oddURL(_ text: String) async throws {
        try await LoopbackWorld.with { world in
            let url = try #require(URL(string: text.replacingOccurrences(of: "PORT", with: "\(world.api.port)")))
            let error = try await world.app().failure(of: url)
            #expect(error.code == .badRequest)
            #expect(!error.description.contains("secret"))
            #expect(world.api.counters.connections == 0)
        }
    }

    @Test("A call to a protected host over plain HTTP fails without a connection")
    func plainHTTP() async throws {
        try await LoopbackWorld.with { world in
            let plain = try await RawServer.start { _ in }
            let url = try #require(URL(string: "http://\(LoopbackWorld.apiHost):\(plain.port)/"))
            #expect(try await world.app().failure(of: url).code == .pinningError)
            #expect(plain.counters.connections == 0)
            await plain.stop()
        }
    }
}

/// Sets a different credential for each host, as an OAuth interceptor does.
private struct SignIn: RequestInterceptor {
    func adapt(_ request: URLRequest) async throws -> URLRequest {
        var request = request
        request.setValue("Bearer for \(request.url?.host() ?? "")", forHTTPHeaderField: "Authorization")
        return request
    }
}
