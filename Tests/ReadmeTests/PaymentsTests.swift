import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import TestTags
import Testing

/// Runs what README.md shows for limited-use tokens.
@Suite struct PaymentsTests {
    @Test("The payments snippet accepts a limited-use token once, and refuses other tokens and those with a refused annotation")
    func router() async throws {
        let folder = try TemporaryFolder()
        let secret = AccountSecret.generate()
        let now = Int64(Date().timeIntervalSince1970)
        func token(jti: String?, anno: [String]? = nil) throws -> String {
            try TokenSigner(key: .hs256(secret)).sign(TokenClaims(exp: now + 60, iat: now, aud: "api.example.com", anno: anno, jti: jti))
        }
        let verifier = try TokenVerifier(keys: [.hs256(secret)], audience: "api.example.com")
        let router = try payments(verifier: verifier, usedTokens: folder.path("store/used.sqlite"))
        let good = try token(jti: "first")
        let refused = [try token(jti: nil), try token(jti: "second", anno: ["dev-key"]), try token(jti: "third", anno: ["always-pass"])]
        try await Application(router: router, logger: .silent).test(.router) { (client) async throws in
            func status(_ token: String) async throws -> Int {
                try await client.execute(uri: "/payments", method: .post, headers: [.approovToken: token]) { $0.status.code }
            }
            for token in refused { #expect(try await status(token) == 401) }
            #expect(try await status(good) == 200)
            #expect(try await status(good) == 401)
        }
    }

    @Test(
        "The payments snippet accepts the authority's token for a registered build, and no development build or always-pass device",
        .tags(.sockets))
    func annotations() async throws {
        let folder = try TemporaryFolder()
        let authority = try await TestAuthority.start(host: "authority.localhost")
        let store = authority.store
        try await store.addHost("api.localhost", settings: .pinned)
        try await store.setAcceptsDevelopmentKey(true)
        let initial = try await ApproovConfiguration(authority.initialConfiguration())
        func service(_ name: String, developmentKey: String? = nil) throws -> ApproovService {
            try ApproovService(
                configuration: initial, stateDirectory: folder.url.appending(path: name), developmentKey: developmentKey, logger: .silent)
        }
        func token(from service: ApproovService) async throws -> String {
            let url = try #require(URL(string: "https://api.localhost/payments"))
            return await service.fetchLimitedUseToken(for: url).token
        }
        let developer = try await token(from: service("developer", developmentKey: try #require(store.developmentKey).base64url))
        let device = try service("device")
        try await store.setDevicePolicy(.alwaysPass, for: device.deviceID)
        let passing = try await token(from: device)
        try await store.addRegistration(ExecutableMeasurement.sha256(ofFileAt: URL(filePath: "/proc/self/exe")), label: "tests")
        let registered = try await token(from: service("registered"))
        let verifier = try store.tokenVerifier(audience: "api.localhost")
        #expect(try verifier.verify(developer, binding: .ignored).claims.anno?.contains("dev-key") == true)
        #expect(try verifier.verify(passing, binding: .ignored).claims.anno?.contains("always-pass") == true)
        let router = try payments(verifier: verifier, usedTokens: folder.path("store/used.sqlite"))
        try await Application(router: router, logger: .silent).test(.router) { (client) async throws in
            for (token, expected) in [(developer, 401), (passing, 401), (registered, 200)] {
                let fields: HTTPFields = [.approovToken: token]
                let status = try await client.execute(uri: "/payments", method: .post, headers: fields) { $0.status.code }
                #expect(status == expected)
            }
        }
        await authority.stop()
    }
}
