import ApproovTesting
import Foundation
import TestTags
import Testing

/// The Python of README.md that checks signatures, with requests that a Python client signs.
///
/// `SnippetTests` checks it with a request of a session. Here the client chooses binding and clock.
@Suite(.tags(.processes), .timeLimit(.minutes(5)))
struct PythonSignatureTests {
    private static let python = ProcessInfo.processInfo.environment["APPROOV_PYTHON"] ?? "python3"

    /// Signs requests and prints, for each, "ok" or the class of the check's error.
    private static let client = #"""

        import base64, datetime, hashlib, jwt, time, types
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
        from http_message_signatures import HTTPMessageSigner

        private = ec.generate_private_key(ec.SECP256R1())
        public = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        secret = bytes(range(32))

        class Signing(HTTPSignatureKeyResolver):
            def resolve_private_key(self, key_id):
                return private

        def answer(headers, bound="Bearer alice", created=0, expires=None, added={}):
            claims = {"exp": int(time.time()) + 300, "aud": "api.example.com", "ipk": base64.b64encode(public).decode()}
            if bound is not None:
                claims["pay"] = base64.b64encode(hashlib.sha256(bound.encode()).digest()).decode()
            request = types.SimpleNamespace(
                method="GET", url="https://api.example.com/", body=b"",
                headers={"Approov-Token": jwt.encode(claims, secret, algorithm="HS256"), **headers})
            def date(seconds):
                return datetime.datetime.fromtimestamp(int(time.time()) + seconds, tz=datetime.timezone.utc)
            HTTPMessageSigner(signature_algorithm=algorithms.ECDSA_P256_SHA256, key_resolver=Signing()).sign(
                request, key_id="install", created=date(created), expires=expires and date(expires),
                covered_component_ids=["@method", "@target-uri", "approov-token"] + [name.lower() for name in headers])
            request.headers.update(added)
            try:
                check(request, base64.b64encode(secret).decode(), "api.example.com")
                return "ok"
            except Exception as error:
                return type(error).__name__

        alice = {"Authorization": "Bearer alice"}
        """#

    private static func isPossible() async -> Bool {
        let imports = "import cryptography, http_message_signatures, jwt; http_message_signatures.ContentDigest"
        return (try? await ChildProcess.run(URL(filePath: "/usr/bin/env"), [python, "-c", imports]))?.exitCode == 0
    }

    /// Runs the block of README.md, the client and these lines.
    private func answers(_ lines: String) async throws -> [String] {
        let readme = try String(contentsOf: Repository.root.appending(path: "README.md"), encoding: .utf8)
        let blocks = readme.components(separatedBy: "```python\n").dropFirst().compactMap { $0.components(separatedBy: "```").first }
        let block = try #require(blocks.first { $0.contains("def check") })
        let run = try await ChildProcess.run(URL(filePath: "/usr/bin/env"), [Self.python, "-c", block + Self.client + "\n" + lines])
        try #require(run.exitCode == 0, "\(run.errors)")
        return run.lines
    }

    @Test(
        "A bound token passes only with the value that it is bound to, however well the request is signed",
        .enabled("pip install PyJWT cryptography http-message-signatures, or set APPROOV_PYTHON") { await Self.isPossible() })
    func binding() async throws {
        let answers = try await answers(
            """
            print(answer(alice), answer({"Authorization": "\\t Bearer alice "}), answer({}, bound=None))
            print(answer({"Authorization": "Bearer bob"}), answer({}), answer({"Authorization": " "}, bound=""))
            """)
        #expect(answers == ["ok ok ok", "InvalidTokenError InvalidTokenError InvalidTokenError"])
    }

    @Test(
        "Authorization and Content-Type must be signed where the request has them, as for `SignatureCheckMiddleware`",
        .enabled("pip install PyJWT cryptography http-message-signatures, or set APPROOV_PYTHON") { await Self.isPossible() })
    func addedFields() async throws {
        let answers = try await answers(
            """
            kind = {"Content-Type": "text/plain"}
            print(answer({**alice, **kind}), answer(kind, bound=None), answer(alice, added={"X-Other": "1"}))
            print(answer({}, added=alice), answer({}, bound=None, added=alice), answer(alice, added=kind))
            """)
        #expect(answers == ["ok ok ok", "InvalidSignature InvalidSignature InvalidSignature"])
    }

    @Test(
        "The check allows clocks to differ by 30 seconds, as `SignatureCheckMiddleware` does",
        .enabled("pip install PyJWT cryptography http-message-signatures, or set APPROOV_PYTHON") { await Self.isPossible() })
    func clocks() async throws {
        // Far enough from the limits for a slow machine: created, expired, and too old after 60 seconds.
        let answers = try await answers(
            """
            print(answer(alice, created=20), answer(alice, created=-20, expires=-10), answer(alice, created=-70))
            print(answer(alice, created=90), answer(alice, created=-50, expires=-31), answer(alice, created=-91))
            """)
        #expect(answers == ["ok ok ok", "InvalidSignature InvalidSignature InvalidSignature"])
    }
}
