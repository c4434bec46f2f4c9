import Attestation
import Foundation
import Testing

@testable import ApproovCLI

@Suite struct HostTreatmentTests {
    private func treatment(of url: String, _ hosts: [String: HostSettings]) throws -> String {
        let configuration = DynamicConfiguration(account: "a", version: 1, issuedAt: 1, expiresAt: 2, hosts: hosts)
        return try HostTreatment(
            of: try #require(URL(string: url)), by: configuration, evaluated: false, relay: nil
        ).description
    }

    @Test("A host below the pattern is protected, and another one is not")
    func ordinary() throws {
        let hosts = ["example.com": HostSettings(pins: [], includeSubdomains: true)]
        #expect(try treatment(of: "https://api.example.com/", hosts) == "api.example.com: protected; with a token, pins")
        #expect(try treatment(of: "https://example.org/", hosts) == "example.org: not protected; no token")
    }

    @Test("A host that a public suffix separates from its pattern gets no token, but the pattern's pins if it enforces them")
    func separated() throws {
        for (enforce, text) in [(true, "the pattern's pins"), (false, "not protected; no token")] {
            let hosts = ["amazonaws.com": HostSettings(pins: [], enforce: enforce, includeSubdomains: true)]
            #expect(try treatment(of: "https://bucket.s3.amazonaws.com/", hosts).hasSuffix(text))
        }
    }
}
