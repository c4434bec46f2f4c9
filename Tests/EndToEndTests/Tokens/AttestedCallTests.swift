import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import Foundation
import TestTags
import Testing

// Acceptance list: S1.7, S1.11
/// The token of a protected call, and the API's response to it.
@Suite("An attested call", .tags(.sockets), .timeLimit(.minutes(5)))
struct AttestedCallTests {
    @Test("An attested call succeeds with a token signed with the account's secret and bound to Authorization")
    func answered() async throws {
        try await LoopbackWorld.with { world in
            let app = try await world.app()
            let answer = try await app.get(world.url("/shapes"), authorization: "Bearer alice")
            #expect(answer.status == 200)
            let token = try Token(answer.text)
            #expect(token.isSigned(with: world.authority.store.accountSecret.bytes))
            #expect(token.claims["pay"] as? String == Token.pay("Bearer alice"))
            #expect(token.claims["aud"] as? String == LoopbackWorld.apiHost)
            #expect(token.claims["did"] as? String == app.service.deviceID.base64)
            #expect(world.api.counters.requests == 1)
        }
    }

    @Test("The API rejects a call without a token, with another or no Authorization, and with another host's token")
    func replayed() async throws {
        try await LoopbackWorld.with { world in
            let app = try await world.app()
            let url = try world.url("/shapes")
            let token = try await app.get(url, authorization: "Bearer alice").text
            #expect(try await world.plainStatus(url, token: token, authorization: "Bearer alice") == 200)
            #expect(try await world.plainStatus(url, token: token, authorization: "Bearer mallory") == 401)
            #expect(try await world.plainStatus(url, token: token, authorization: nil) == 401)
            #expect(try await world.plainStatus(url, token: nil, authorization: "Bearer alice") == 401)
            let other = await app.service.fetchToken(for: try world.url("/shapes", host: LoopbackWorld.otherHost), binding: "Bearer alice")
            #expect(other.status == .success)
            #expect(try await world.plainStatus(url, token: other.token, authorization: "Bearer alice") == 401)
        }
    }

    @Test("Concurrent calls with different Authorization values each carry their own token")
    func ownTokens() async throws {
        try await LoopbackWorld.with { world in
            let app = try await world.app()
            let url = try world.url("/shapes")
            let users = (0..<20).map { "Bearer user \($0)" }
            let tokens = try await withThrowingTaskGroup { group in
                for user in users {
                    group.addTask { (user, try await app.get(url, authorization: user)) }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            for user in users {
                let answer = try #require(tokens[user])
                #expect(answer.status == 200)
                #expect(try Token(answer.text).claims["pay"] as? String == Token.pay(user))
            }
            #expect(Set(tokens.values.map(\.text)).count == users.count)
        }
    }

    @Test("A call without the binding header fails before any connection to the API")
    func unbound() async throws {
        try await LoopbackWorld.with { world in
            let app = try await world.app()
            let error = try await app.failure(of: world.url("/shapes"), authorization: nil)
            #expect(error.code == .bindingMissing)
            #expect(error.message.contains("Authorization"))
            #expect(world.api.counters.connections == 0)
        }
    }

    @Test("The API rejects a call of an unregistered executable, whose token does not verify")
    func unregistered() async throws {
        try await LoopbackWorld.with { world in
            let stranger = world.folder.file("stranger")
            try Data("another app".utf8).write(to: stranger)
            let app = try await world.app { $0.executable = stranger }
            #expect(try await app.get(world.url("/shapes")).status == 401)
            let result = await app.service.fetchToken(for: try world.url("/shapes"), binding: "Bearer alice")
            #expect(try !Token(result.token).isSigned(with: world.authority.store.accountSecret.bytes))
        }
    }
}

/// A token parsed without any code of this package, as another JWT library does.
struct Token {
    let claims: [String: Any]
    private let signed: Data
    private let signature: Data

    init(_ text: String) throws {
        let parts = text.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let payload = try #require(Self.decoded(parts[1]))
        claims = try #require(try JSONSerialization.jsonObject(with: payload) as? [String: Any])
        signed = Data("\(parts[0]).\(parts[1])".utf8)
        signature = try #require(Self.decoded(parts[2]))
    }

    func isSigned(with secret: [UInt8]) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: signed, using: SymmetricKey(data: secret))
    }

    /// The `pay` claim for a binding.
    static func pay(_ binding: String) -> String { Data(SHA256.hash(data: Data(binding.utf8))).base64EncodedString() }

    private static func decoded(_ text: String) -> Data? {
        var base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while base64.count % 4 != 0 { base64 += "=" }
        return Data(base64Encoded: base64)
    }
}
