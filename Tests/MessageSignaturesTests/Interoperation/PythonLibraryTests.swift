import ApproovTesting
import Crypto
import Foundation
import HTTPTypes
import MessageSignatures
import TestTags
import Testing

/// Another implementation of RFC 9421 verifies our requests, and we verify its.
@Suite(.tags(.processes), .enabled(PythonLibrary.whatIsMissing) { await PythonLibrary.isPossible() })
struct PythonLibraryTests {
    private let installation = P256.Signing.PrivateKey()
    private let account = [UInt8](repeating: 3, count: 32)

    /// The names of the keys, as `keyid` has them: the library insists on the parameter.
    enum Key: String, CaseIterable { case install, account }

    private var keys: [String: String] {
        [
            "install": installation.pemRepresentation, "public": installation.publicKey.pemRepresentation,
            "account": Base64.encode(account),
        ]
    }

    private func signer(_ key: Key) throws -> SignatureSigningKey {
        key == .install ? .ecdsaP256SHA256(installation) : try .hmacSHA256(account)
    }

    private func verifier(_ key: Key) throws -> SignatureVerifier {
        let keys: [SignatureVerificationKey] = [
            .ecdsaP256SHA256(installation.publicKey, id: "install"), try .hmacSHA256(account, id: "account"),
        ]
        var requirements = SignatureRequirements(covering: [.method, .targetURI, .field(.approovToken)])
        // The other process uses its own clock, and may be slow to start.
        requirements.maximumAge = .seconds(3_600)
        return SignatureVerifier(keys: keys.filter { $0.id == key.rawValue }, requirements: requirements)
    }

    private static let urls = [
        "https://api.example.com/shapes", "https://api.example.com:8443/a%2Fb/c%20d?x=%20&x=&y", "https://api.example.com/?",
    ]

    private static func messages() -> [PythonLibrary.Message] {
        urls.flatMap { url in
            ["", "an order of 3 \u{1F355}"].map { body in
                .init(
                    method: body.isEmpty ? "GET" : "POST", url: url, headers: ["Approov-Token": "a.b.c", "Content-Type": "text/plain"],
                    body: body,
                    covered: ["@method", "@target-uri", "approov-token", "content-type"] + (body.isEmpty ? [] : ["content-digest"]))
            }
        }
    }

    private func request(_ message: PythonLibrary.Message) throws -> SignableRequest {
        var fields = HTTPFields()
        for (name, value) in message.headers { fields[try #require(HTTPField.Name(name))] = value }
        return try SignableRequest(method: message.method, target: TargetURI(message.url), fields: fields)
    }

    /// The message with our signature.
    private func signed(_ message: PythonLibrary.Message, _ key: Key) async throws -> PythonLibrary.Message {
        var message = message
        if !message.body.isEmpty { message.headers["Content-Digest"] = ContentDigest(of: Array(message.body.utf8)).fieldValue }
        var request = try request(message)
        let signer = try signer(key)
        var parameters = SignatureParameters(try message.covered.map { try SignatureComponent($0) } + [.authority, .path, .query])
        parameters.algorithm = signer.algorithm.rawValue
        let now = Int64(Date().timeIntervalSince1970)
        parameters.created = now
        parameters.expires = now + 3_600
        parameters.keyID = key.rawValue
        try await MessageSignature(signing: .request(request), label: key.rawValue, parameters: parameters, with: signer)
            .add(to: &request.fields)
        for field in request.fields { message.headers[field.name.rawName] = field.value }
        return message
    }

    @Test("The library verifies our requests, and no changed ones", arguments: Key.allCases)
    func theyVerify(_ key: Key) async throws {
        var good: [PythonLibrary.Message] = []
        for message in Self.messages() { good.append(try await signed(message, key)) }
        var bad: [PythonLibrary.Message] = []
        for message in good {
            var other = message
            other.method = "PUT"
            var elsewhere = message
            elsewhere.url += "x"
            var typed = message
            typed.headers["Content-Type"] = "text/html"
            var longer = message
            longer.body += "!"
            bad += [other, elsewhere, typed, longer]
        }
        let results = try await PythonLibrary.run("verify", key: key.rawValue, keys: keys, good + bad)
        #expect(results.prefix(good.count).allSatisfy { $0 == ["label": key.rawValue] }, "\(results)")
        #expect(results.count == good.count + bad.count && results.dropFirst(good.count).allSatisfy { $0["error"] != nil }, "\(results)")
    }

    @Test("We verify the library's requests, and no changed ones", arguments: Key.allCases)
    func weVerify(_ key: Key) async throws {
        let messages = Self.messages()
        let results = try await PythonLibrary.run("sign", key: key.rawValue, keys: keys, messages)
        #expect(results.count == messages.count)
        for (message, headers) in zip(messages, results) {
            var message = message
            message.headers = headers
            let signature = try verifier(key).verify(.request(request(message)))
            #expect(signature.label == "python" && signature.keyID == key.rawValue)
            let digest = try ContentDigest.read(from: request(message).fields)
            #expect((digest != nil) == signature.covers(.contentDigest) && (digest == nil) == message.body.isEmpty)
            try digest?.check(Array(message.body.utf8))
            message.url += "x"
            #expect(code { _ = try verifier(key).verify(.request(request(message))) } == .invalidSignature)
        }
    }
}
