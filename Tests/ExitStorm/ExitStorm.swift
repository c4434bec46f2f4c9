import ApproovTesting
import ApproovTokens
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient

/// Calls `exit(0)` while its threads are still working: `exit-storm handshakes|tokens`.
@main
struct ExitStorm {
    static func main() async throws {
        // Foundation uses OpenSSL first, as in a program that wraps a session.
        _ = URLSession(configuration: .default)
        switch CommandLine.arguments.last {
        case "handshakes": try await shakeHands()
        default: try verifyTokens()
        }
        try await Task.sleep(for: .microseconds(Int.random(in: 0...20_000)))
        exit(0)
    }

    /// Opens and closes connections on the threads of several transports.
    private static func shakeHands() async throws {
        let root = try TestPKI.root()
        let server = try await TestHTTPServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root)) { _ in
            TestResponse(text: "ok")
        }
        let anchors = try TrustAnchors(pem: root.pem)
        let url = try TransportURL("https://localhost:\(server.port)/")
        for _ in 0..<4 {
            let transport = try CurlTransport()
            for _ in 0..<4 {
                Task {
                    while true {
                        // With its own policy, each request opens and closes its own connection.
                        let policy = TrustPolicy(rules: try HostMap([(HostPattern, TrustRule)]()), defaultAnchors: anchors)
                        let response = try? await transport.send(TransportRequest(url: url, policy: policy))
                        _ = try? await response?.body.collect(upTo: 100)
                    }
                }
            }
        }
        try await Task.sleep(for: .milliseconds(100))
    }

    private static func verifyTokens() throws {
        let key = try SigningKey.generate(.es256)
        let expiry = Int64(Date().timeIntervalSince1970) + 60
        let token = try TokenSigner(key: key).sign(TokenClaims(exp: expiry))
        for _ in 0..<2 {
            Thread.detachNewThread {
                // A new verifier has not cached the token.
                while (try? TokenVerifier(keys: [key.verificationKey]).verify(token)) != nil {}
            }
        }
    }
}
