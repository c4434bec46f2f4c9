import ApproovBase
import ApproovTesting
import ApproovTokenCheck
import ApproovTokens
import Attestation
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

/// An API whose handler counts its calls, and the limited-use tokens for it.
struct LimitedUseRoutes: Sendable {
    struct Answer: Sendable, Equatable {
        let status: Int
        let retryAfter: String?
        let challenge: String?
        let body: String
    }

    let clock = ManualClock()
    let secret = AccountSecret.generate()
    let logs = LogRecord()
    let calls = Shared(0)

    var now: Int64 { Int64(clock.date.timeIntervalSince1970) }

    func verifier(issuer: String? = nil) throws -> TokenVerifier {
        try TokenVerifier(keys: [.hs256(secret)], audience: "api.example.com", issuer: issuer, time: clock)
    }

    func token(jti: String? = "AAECAwQFBgcICQoLDA0ODw", _ change: (inout TokenClaims) -> Void = { _ in }) throws -> String {
        var claims = TokenClaims(exp: now + 60, iat: now, aud: "api.example.com", jti: jti)
        change(&claims)
        return try TokenSigner(key: .hs256(secret)).sign(claims)
    }

    /// Runs `body` with a client of an application behind the checks that `addChecks` adds.
    ///
    /// The handler says whether the token is a replay.
    func serve(
        behind addChecks: (Router<BasicTokenCheckedRequestContext>) -> Void,
        _ body: @escaping @Sendable (@escaping @Sendable ([(String, String)]) async throws -> Answer) async throws -> Void
    ) async throws {
        let router = Router(context: BasicTokenCheckedRequestContext.self)
        addChecks(router)
        router.post("pay") { [calls] _, context in
            calls.change { $0 += 1 }
            return context.isReplay ? "replay" : "first"
        }
        try await Application(router: router, logger: logs.logger).test(.router) { client in
            try await body { lines in
                var fields = HTTPFields()
                for (name, value) in lines { fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value)) }
                return try await client.execute(uri: "/pay", method: .post, headers: fields) { response in
                    Answer(
                        status: response.status.code, retryAfter: response.headers[.retryAfter],
                        challenge: response.headers[.wwwAuthenticate], body: String(buffer: response.body))
                }
            }
        }
    }
}
