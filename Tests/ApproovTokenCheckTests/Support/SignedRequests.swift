import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import MessageSignatures
import NIOCore
import Testing

@testable import ApproovTokenCheck

/// An app, its token and its signed requests, and an API behind both checks.
struct SignedRequests {
    let clock = ManualClock()
    let logs = LogRecord()
    let installation = P256.Signing.PrivateKey()
    let accountKey = Array("0123456789abcdef0123456789abcdef".utf8)
    private let secret = AccountSecret.generate()

    static let tokenName = HTTPField.Name.approovToken
    /// How the testing framework's requests name their server.
    static let origin = "https://localhost"

    var now: Int64 { Int64(clock.date.timeIntervalSince1970) }

    /// A token of this installation.
    func token(_ change: (inout TokenClaims) -> Void = { _ in }) throws -> String {
        var claims = TokenClaims(
            exp: now + 300, iat: now, did: "AAECAwQFBgcICQoLDA0ODw==", aud: "api.example.com",
            ipk: Base64.encode(installation.publicKey.derRepresentation))
        claims.mskid = "j3AWy6"
        change(&claims)
        return try TokenSigner(key: .hs256(secret)).sign(claims)
    }

    /// What a request covers by default: with a body also its digest.
    static func components(hasBody: Bool) -> [SignatureComponent] {
        [.method, .targetURI, .field(tokenName)] + (hasBody ? [.contentDigest] : [])
    }

    /// Header fields with a signature as this package's client makes it.
    func fields(
        _ method: String = "GET", _ path: String = "/shapes?a=1", body: String = "", token: String? = nil, origin: String = origin,
        components: [SignatureComponent]? = nil, algorithm: SignatureAlgorithm = .ecdsaP256SHA256, with key: SignatureSigningKey? = nil,
        label: String = "install", fields: HTTPFields = [:], _ change: (inout SignatureParameters) -> Void = { _ in }
    ) async throws -> HTTPFields {
        var fields = fields
        fields[Self.tokenName] = try token ?? self.token()
        if !body.isEmpty, fields[ContentDigest.fieldName] == nil {
            fields[ContentDigest.fieldName] = ContentDigest(of: Array(body.utf8)).fieldValue
        }
        var parameters = SignatureParameters(components ?? Self.components(hasBody: !body.isEmpty))
        parameters.algorithm = algorithm.rawValue
        parameters.created = now
        parameters.expires = now + 15
        change(&parameters)
        let request = try SignableRequest(method: method, target: TargetURI(origin + path), fields: fields)
        try await MessageSignature(
            signing: .request(request), label: label, parameters: parameters,
            with: key ?? SignatureSigningKey.ecdsaP256SHA256(installation)
        ).add(to: &fields)
        return fields
    }

    /// What an API answers.
    struct Answer: Equatable, CustomStringConvertible {
        let status: Int
        let body: String
        let challenge: String?
        var description: String { "\(status) \(body) \(challenge ?? "")" }

        static let refused = Answer(status: 401, body: "", challenge: "Approov-Signature")
    }

    /// The answer of an API that is behind the token check and a signature check.
    func answer(
        _ fields: HTTPFields, _ method: String = "GET", _ path: String = "/shapes?a=1", body: String = "",
        check make: () throws -> SignatureCheckMiddleware<BasicSignatureCheckedRequestContext> = { try SignatureCheckMiddleware() }
    ) async throws -> Answer {
        let router = Router(context: BasicSignatureCheckedRequestContext.self)
        router.add(
            middleware: try TokenCheckMiddleware(
                verifier: try TokenVerifier(keys: [.hs256(secret)], audience: "api.example.com", time: clock)))
        var check = try make()
        check.time = clock
        router.add(middleware: check)
        @Sendable func handle(_ request: Request, _ context: BasicSignatureCheckedRequestContext) async throws -> String {
            let body = try await request.body.collect(upTo: 1 << 20)
            return "\(try context.requireVerifiedSignature().label) \(String(buffer: body))"
        }
        let verb = try #require(HTTPRequest.Method(rawValue: method))
        router.on("**", method: verb) { try await handle($0, $1) }
        let application = Application(router: router, logger: logs.logger)
        return try await application.test(.router) { client in
            try await client.execute(
                uri: path, method: verb, headers: fields, body: body.isEmpty ? nil : ByteBuffer(string: body)
            ) { response in
                Answer(
                    status: response.status.code, body: String(buffer: response.body),
                    challenge: response.headers[.wwwAuthenticate])
            }
        }
    }
}
