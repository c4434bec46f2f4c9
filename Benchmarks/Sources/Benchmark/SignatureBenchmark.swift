import Attestation
import Crypto
import Foundation
import HTTPTypes
import MessageSignatures

/// Signing and verifying a request with a token and a small body, beside the bare operations on the same bytes, on one core.
struct SignatureBenchmark {
    static let sign = "sign, ECDSA P-256"
    static let verify = "verify, ECDSA P-256"
    static let signShared = "sign, HMAC"
    static let ours = "MessageSignatures"
    static let bare = "bare operations"
    /// Nanoseconds of a signature with the account key over the bare HMAC and digest.
    static let overhead = "over the bare operations"

    let options: Options

    private static let body = Array(repeating: UInt8(ascii: "x"), count: 1_024)
    /// The fields that are covered, as a session has them ready.
    private static let names =
        ["Approov-Token", "Approov-TraceID"].compactMap { HTTPField.Name($0) } + [.authorization, .contentLength, .contentType]
    private static let url = "https://api.example.com/v1/orders?page=1&size=20"

    /// The signature is verified until the group ends.
    private static var requirements: SignatureRequirements {
        var requirements = SignatureRequirements(covering: [.method, .targetURI, .contentDigest])
        requirements.maximumAge = .seconds(3_600)
        return requirements
    }

    func run() async throws -> [Figure] {
        let key = P256.Signing.PrivateKey()
        let account = [UInt8](repeating: 7, count: 64)
        let (installation, shared) = (SignatureSigningKey.ecdsaP256SHA256(key), try SignatureSigningKey.hmacSHA256(account))
        let fields = try Self.fields()
        let (signed, base) = try await Self.signed(fields, with: installation)
        let (_, sharedBase) = try await Self.signed(fields, with: shared)
        let sharedKey = SymmetricKey(data: account)
        let signature = try key.signature(for: base)
        let verifier = SignatureVerifier(
            keys: [.ecdsaP256SHA256(key.publicKey)], requirements: Self.requirements)
        let signing = try await compare(
            Self.sign, { blackHole(try await Self.signed(fields, with: installation)) },
            {
                blackHole(SHA256.hash(data: Self.body))
                blackHole(try key.signature(for: base))
            })
        let verifying = try await compare(
            Self.verify,
            {
                let target = try TargetURI(scheme: "https", authority: "api.example.com", path: "/v1/orders?page=1&size=20")
                blackHole(try verifier.verify(.request(SignableRequest(method: "POST", target: target, fields: signed))))
                try ContentDigest.read(from: signed)?.check(Self.body)
            },
            {
                guard key.publicKey.isValidSignature(signature, for: base) else { throw BenchmarkError("the signature does not verify") }
                blackHole(SHA256.hash(data: Self.body))
            })
        let sharing = try await compare(
            Self.signShared, { blackHole(try await Self.signed(fields, with: shared)) },
            {
                blackHole(SHA256.hash(data: Self.body))
                blackHole(HMAC<SHA256>.authenticationCode(for: sharedBase, using: sharedKey))
            })
        var figures = signing + verifying + sharing
        // What else the machine does only adds to a time, so the shortest rounds are compared.
        if let ours = sharing.first(where: { $0.name == Self.ours })?.rounds.min(),
            let bare = sharing.first(where: { $0.name == Self.bare })?.rounds.min()
        {
            figures.append(
                Figure(group: "signatures", scenario: Self.signShared, name: Self.overhead, value: ours - bare, unit: .nanoseconds))
        }
        return figures
    }

    private func compare(
        _ scenario: String, _ ours: @escaping () async throws -> Void, _ bare: @escaping () async throws -> Void
    ) async throws -> [Figure] {
        try await Comparison(group: "signatures", scenario: scenario, unit: .nanoseconds, peers: [Self.bare]).run(
            [
                Subject(Self.ours) { try await nanosecondsPerCall(during: options.seconds, ours) },
                Subject(Self.bare, isPeer: true) { try await nanosecondsPerCall(during: options.seconds, bare) },
            ], options: options)
    }

    /// The fields of a request with a token, as a session sends them.
    private static func fields() throws -> HTTPFields {
        var fields: HTTPFields = [
            .authorization: "Bearer 0123456789abcdef", .contentType: "application/json", .accept: "*/*",
            .contentLength: String(body.count),
        ]
        guard let token = HTTPField.Name("Approov-Token"), let traceID = HTTPField.Name("Approov-TraceID") else {
            throw BenchmarkError("a field name is malformed")
        }
        fields[token] = String(repeating: "t", count: 700)
        fields[traceID] = "0123456789abcdef0123456789abcdef"
        return fields
    }

    /// Signs as a session does: digest, base, signature, fields.
    private static func signed(_ fields: HTTPFields, with signer: SignatureSigningKey) async throws -> (HTTPFields, base: [UInt8]) {
        var fields = fields
        fields.append(HTTPField(name: ContentDigest.fieldName, value: ContentDigest(of: body).fieldValue))
        var parameters = SignatureParameters([.method, .targetURI] + names.map { .field($0) } + [.contentDigest])
        parameters.algorithm = signer.algorithm.rawValue
        let now = Int64(Date().timeIntervalSince1970)
        parameters.created = now
        parameters.expires = now + 3_600
        let message = SignableMessage.request(try SignableRequest(method: "POST", target: TargetURI(url), fields: fields))
        let signature = try await MessageSignature(signing: message, label: "install", parameters: parameters, with: signer)
        try signature.add(to: &fields)
        return (fields, signature.base.bytes)
    }
}
