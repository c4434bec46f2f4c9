import AllocationCounter
import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL

/// Bare verifications of an ECDSA P-256 signature.
struct BareVerification {
    /// As long as evidence is.
    private static let message = [UInt8](repeating: UInt8(ascii: "x"), count: 1_024)
    /// As long as the result of an attestation is.
    private static let answer = String(repeating: "x", count: 1_024)
    private static let keySize = 65
    private static let signatureSize = 64

    private let key: P256.Signing.PublicKey
    private let signature: P256.Signing.ECDSASignature

    init() throws {
        let key = P256.Signing.PrivateKey()
        self.key = key.publicKey
        signature = try key.signature(for: Self.message)
    }

    /// Nanoseconds of this thread's processor time for one verification.
    func nanoseconds() throws -> Double {
        let count = 1_000
        let before = clock_seconds(CLOCK_THREAD_CPUTIME_ID)
        for _ in 0..<count {
            guard key.isValidSignature(signature, for: Self.message) else { throw BenchmarkError("the signature does not verify") }
        }
        return (clock_seconds(CLOCK_THREAD_CPUTIME_ID) - before) / Double(count) * 1e9
    }

    /// What ``answer(to:)`` verifies: key, signature and message.
    var request: [UInt8] { Array(key.x963Representation) + Array(signature.rawRepresentation) + Self.message }

    /// The server's part: reads the key, verifies the signature, and answers as many bytes as an authority does.
    static func answer(to request: [UInt8]) throws -> String {
        guard request.count == keySize + signatureSize + message.count else { throw BenchmarkError("the request has another size") }
        let key = try P256.Signing.PublicKey(x963Representation: request[..<keySize])
        let rest = request[keySize...]
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: rest.prefix(signatureSize))
        guard key.isValidSignature(signature, for: rest.dropFirst(signatureSize)) else {
            throw BenchmarkError("the signature does not verify")
        }
        return answer
    }
}

/// Sends signatures to a server that does nothing but verify them, as ``AttestationLoad`` sends evidence to an authority.
struct VerificationClient: LoadClient {
    private let client: HTTPClient
    private let url: String
    private let body: [UInt8]

    init(api: String, roots: String) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(roots.utf8)))
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: HTTPClient.Configuration(tlsConfiguration: tls))
        url = api + "/verify"
        body = try BareVerification().request
    }

    func shutdown() async throws { try await client.shutdown() }

    func get() async throws {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.body = .bytes(body)
        let response = try await client.execute(request, timeout: .seconds(30))
        _ = try await response.body.collect(upTo: 1 << 20)
        guard response.status == .ok else { throw BenchmarkError("the server answered /verify with \(response.status)") }
    }
}
