import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

@Suite struct ValueSealTests {
    /// An attester without a secret.
    private struct Bare: Attester {
        let deviceID = DeviceID(installationKey: P256.Signing.PrivateKey().publicKey)

        func evidence(for request: EvidenceRequest) async throws -> String { "" }
    }

    @Test("A sealed value opens with the key of the same installation, also after a restart, and for its own name alone")
    func opens() throws {
        let folder = try TemporaryFolder()
        func seal(_ state: String, purpose: String = "a") throws -> ValueSeal {
            try #require(ValueSeal(try InstallationAttester(stateDirectory: folder.file(state)), for: purpose))
        }
        let sealed = try seal("one").seal("value é", for: "name")
        #expect(try seal("one").open(sealed, for: "name") == "value é")
        #expect(try seal("one").open(sealed, for: "other") == nil)
        #expect(try seal("one", purpose: "b").open(sealed, for: "name") == nil)
        #expect(try seal("two").open(sealed, for: "name") == nil)
        #expect(try seal("one").seal("value é", for: "name") != sealed)
    }

    @Test("A sealed value that was changed, cut or lengthened does not open")
    func changed() throws {
        let folder = try TemporaryFolder()
        let seal = try #require(ValueSeal(try InstallationAttester(stateDirectory: folder.file("one")), for: "a"))
        let sealed = try seal.seal("value", for: "name")
        for index in sealed.indices {
            var other = sealed
            other[index] ^= 1
            #expect(seal.open(other, for: "name") == nil)
            #expect(seal.open(Array(sealed[..<index]), for: "name") == nil)
        }
        #expect(seal.open(sealed + [0], for: "name") == nil)
    }

    @Test("An attester without a secret seals nothing")
    func bare() { #expect(ValueSeal(Bare(), for: "a") == nil) }
}
