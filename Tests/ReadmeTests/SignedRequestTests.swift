import ApproovBase
import ApproovTesting
import ApproovTokenCheck
import ApproovTokens
import Attestation
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import MessageSignatures
import TestTags
import Testing

/// Runs what README.md shows for signed requests, in Swift and in Python.
@Suite(.tags(.processes)) struct SignedRequestTests {
    private let key = P256.Signing.PrivateKey()
    private let secret = AccountSecret.generate()
    private static let url = "https://api.example.com/payments"
    private static let body = "amount=1"

    /// A token of an app with this key.
    private func token(_ change: (inout TokenClaims) -> Void = { _ in }) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        var claims = TokenClaims(
            exp: now + 60, iat: now, did: "AAECAwQFBgcICQoLDA0ODw==", aud: "api.example.com",
            ipk: key.publicKey.derRepresentation.base64EncodedString(), jti: SystemRandom.bytes(16).map { "\($0)" }.joined())
        change(&claims)
        return try TokenSigner(key: .hs256(secret)).sign(claims)
    }

    /// The header fields of a signed POST.
    private func fields(
        token: String, covering: [SignatureComponent] = [.method, .targetURI, .field(.approovToken), .contentDigest]
    )
        async throws -> HTTPFields
    {
        var fields: HTTPFields = [.approovToken: token, ContentDigest.fieldName: ContentDigest(of: Array(Self.body.utf8)).fieldValue]
        var parameters = SignatureParameters(covering)
        parameters.created = Int64(Date().timeIntervalSince1970)
        parameters.keyID = "install"
        let request = try SignableRequest(method: "POST", target: TargetURI(Self.url), fields: fields)
        let signer = SignatureSigningKey.ecdsaP256SHA256(key)
        try await MessageSignature(signing: .request(request), label: "install", parameters: parameters, with: signer).add(to: &fields)
        return fields
    }

    @Test("The payments snippet accepts a signed request with a limited-use token once, and refuses all others")
    func router() async throws {
        let folder = try TemporaryFolder()
        let verifier = try TokenVerifier(keys: [.hs256(secret)], audience: "api.example.com")
        let router = try payments(verifier: verifier, usedTokens: folder.path("store/used.sqlite"))
        let good = try await fields(token: token())
        let developer = try await fields(token: token { $0.anno = ["dev-key"] })
        let unlimited = try await fields(token: token { $0.jti = nil })
        try await Application(router: router, logger: .silent).test(.router) { (client) async throws in
            func status(_ fields: HTTPFields, _ body: String = Self.body) async throws -> Int {
                try await client.execute(uri: "/payments", method: .post, headers: fields, body: ByteBuffer(string: body)) {
                    $0.status.code
                }
            }
            #expect(try await status(good, "amount=2") == 401)
            #expect(try await status(developer) == 401)
            #expect(try await status(unlimited) == 401)
            #expect(try await status(good) == 200)
            #expect(try await status(good) == 401)
        }
    }

    @Test(
        "The Python check accepts a signed request, and refuses another body, method, URL or key, and less coverage",
        .enabled("http-message-signatures 3 is not installed: pip install it, or set APPROOV_PYTHON") { await isPythonThere() })
    func python() async throws {
        let readme = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../README.md").standardized
        let code = try #require(
            try String(contentsOf: readme, encoding: .utf8).components(separatedBy: "```python\n").dropFirst()
                .compactMap { $0.components(separatedBy: "```").first }.first { $0.contains("def check_signature") })
        let program = """
            import base64, json, os
            from datetime import timedelta
            from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, InvalidSignature, algorithms
            from cryptography.hazmat.primitives.serialization import load_der_public_key
            \(code)
            class Request:
                def __init__(self, method, url, headers):
                    self.method, self.url, self.headers = method, url, headers

            for name, (method, url, headers, body, claims) in json.loads(os.environ["REQUESTS"]).items():
                try:
                    check_signature(Request(method, url, headers), body.encode(), claims)
                    print(name, "accepted")
                except InvalidSignature:
                    print(name, "refused")
            """
        let own = ["ipk": key.publicKey.derRepresentation.base64EncodedString()]
        let other = ["ipk": P256.Signing.PrivateKey().publicKey.derRepresentation.base64EncodedString()]
        func headers(_ fields: HTTPFields) -> [String: String] {
            Dictionary(fields.map { ($0.name.rawName, $0.value) }, uniquingKeysWith: { $1 })
        }
        let signed = headers(try await fields(token: "token"))
        let uncovered = headers(try await fields(token: "token", covering: [.method, .targetURI, .contentDigest]))
        let undigested = headers(try await fields(token: "token", covering: [.method, .targetURI, .field(.approovToken)]))
        let requests: [String: [Any]] = [
            "good": ["POST", Self.url, signed, Self.body, own], "body": ["POST", Self.url, signed, "amount=2", own],
            "method": ["PUT", Self.url, signed, Self.body, own], "url": ["POST", Self.url + "?a=1", signed, Self.body, own],
            "key": ["POST", Self.url, signed, Self.body, other], "token": ["POST", Self.url, uncovered, Self.body, own],
            "digest": ["POST", Self.url, undigested, Self.body, own],
        ]
        let json = String(decoding: try JSONSerialization.data(withJSONObject: requests), as: UTF8.self)
        let run = try await ChildProcess.run(
            URL(filePath: "/usr/bin/env"), [Self.interpreter, "-c", program],
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "REQUESTS": json])
        #expect(run.exitCode == 0, "\(run.errors)")
        #expect(
            Set(run.output.split(separator: "\n")) == [
                "good accepted", "body refused", "method refused", "url refused", "key refused", "token refused", "digest refused",
            ])
    }

    private static let interpreter = ProcessInfo.processInfo.environment["APPROOV_PYTHON"] ?? "python3"

    private static func isPythonThere() async -> Bool {
        let run = try? await ChildProcess.run(
            URL(filePath: "/usr/bin/env"), [interpreter, "-c", "import http_message_signatures; http_message_signatures.ContentDigest"])
        return run?.exitCode == 0
    }
}
