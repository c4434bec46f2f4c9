import ApproovTesting
import Crypto
import Foundation
import Testing

@testable import Attestation

@Suite struct InstallationSignerTests {
    @Test("The default attester signs messages with the key that signs its evidence")
    func signs() async throws {
        let folder = try TemporaryFolder()
        let attester = try InstallationAttester(stateDirectory: folder.url)
        let message = Array("\"@method\": GET".utf8)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: try attester.installationSignature(of: message))
        let key = try InstallationKey.load(in: folder.url)
        #expect(key.publicKey.isValidSignature(signature, for: message))
    }

    @Test("It signs nothing in the form of a JWS, whatever the header says")
    func refusesEvidence() async throws {
        let folder = try TemporaryFolder()
        let attester = try InstallationAttester(stateDirectory: folder.url)
        for header in ["{\"alg\":\"ES256\",\"typ\":\"approov-evidence+jws\"}", "{}", " \r\n\t{}", "{"] {
            let message = Array((Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array("{}".utf8))).utf8)
            #expect(code(as: AttestationError.self) { try attester.installationSignature(of: message) } == .unsignableMessage, "\(header)")
        }
        for message in ["", ".", "a.b", "1234.5678", "eyJ9.e30.x", "e30", "e30. e30", "a sentence. And another."] {
            #expect(throws: Never.self, "\(message)") { try attester.installationSignature(of: Array(message.utf8)) }
        }
    }
}
