import ApproovTesting
import Foundation
import Testing

/// The library http-message-signatures for Python, release 3, which knows nothing of this package.
enum PythonLibrary {
    /// Python as `APPROOV_PYTHON` names it, for example that of a virtual environment, or python3 of PATH.
    private static let python = ProcessInfo.processInfo.environment["APPROOV_PYTHON"] ?? "python3"

    static let whatIsMissing: Comment =
        "http-message-signatures 3 is not there, so no other library is tried: pip install it, or set APPROOV_PYTHON to a python that has it"

    /// Whether the library is there.
    static func isPossible() async -> Bool {
        let run = try? await ChildProcess.run(
            URL(filePath: "/usr/bin/env"), [python, "-c", "import http_message_signatures; http_message_signatures.ContentDigest"])
        return run?.exitCode == 0
    }

    /// A request, as both sides see it.
    struct Message: Codable {
        var method: String
        var url: String
        var headers: [String: String]
        var body: String
        /// The components to cover.
        var covered: [String] = []
    }

    private static let program = """
        import base64, json, os, sys
        from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
        from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

        keys = json.loads(os.environ["KEYS"])

        class Resolver(HTTPSignatureKeyResolver):
            def resolve_private_key(self, key_id):
                return base64.b64decode(keys[key_id]) if key_id == "account" else load_pem_private_key(keys[key_id].encode(), None)
            def resolve_public_key(self, key_id):
                return base64.b64decode(keys[key_id]) if key_id == "account" else load_pem_public_key(keys["public"].encode())

        class Message:
            def __init__(self, message):
                self.method, self.url, self.headers = message["method"], message["url"], message["headers"]
                self.body, self.covered = message["body"].encode(), message["covered"]

        mode, name = sys.argv[1:3]
        algorithm = algorithms.HMAC_SHA256 if name == "account" else algorithms.ECDSA_P256_SHA256
        results = []
        for message in map(Message, json.loads(os.environ["MESSAGES"])):
            if mode == "sign":
                signer = HTTPMessageSigner(signature_algorithm=algorithm, key_resolver=Resolver())
                signer.sign(message, key_id=name, label="python", covered_component_ids=message.covered, body=message.body or None)
                results.append(dict(message.headers))
            else:
                try:
                    verifier = HTTPMessageVerifier(signature_algorithm=algorithm, key_resolver=Resolver())
                    [result] = verifier.verify(message, body=message.body)
                    results.append({"label": result.label})
                except Exception as error:
                    results.append({"error": type(error).__name__})
        print(json.dumps(results))
        """

    /// Lets the library sign or verify messages.
    /// - Parameters:
    ///   - mode: `sign` or `verify`
    ///   - key: `install` or `account`
    ///   - keys: the keys by name, and `public`: PEM, or base64 for the account key
    ///   - messages: the messages
    /// - Returns: the header fields of each signed message, or for each verified one its label or its error
    /// - Throws: when Python fails
    static func run(_ mode: String, key: String, keys: [String: String], _ messages: [Message]) async throws -> [[String: String]] {
        func json(_ value: some Encodable) throws -> String { String(decoding: try JSONEncoder().encode(value), as: UTF8.self) }
        let run = try await ChildProcess.run(
            URL(filePath: "/usr/bin/env"), [python, "-c", program, mode, key],
            environment: ["KEYS": json(keys), "MESSAGES": json(messages)])
        try #require(run.exitCode == 0, "\(run.errors)")
        return try JSONDecoder().decode([[String: String]].self, from: run.data)
    }
}
