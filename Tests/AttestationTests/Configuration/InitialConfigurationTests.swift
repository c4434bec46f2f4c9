import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

/// The file that an app starts with.
@Suite struct InitialConfigurationTests {
    private let account: TestAccount

    init() throws { account = try TestAccount() }

    private func refusal(of text: String) -> AttestationError? {
        #expect(throws: AttestationError.self) { try InitialConfiguration(text) }
    }

    private func refusal(setting name: String, to value: JSONValue?) throws -> AttestationError? {
        let json = try JSONValue(reading: try account.initial().serialized, limit: 1 << 20)
        return refusal(of: String(decoding: try json.setting(name, to: value).serialized(), as: UTF8.self))
    }

    @Test("An initial configuration survives a round trip")
    func roundTrip() throws {
        let initial = try account.initial(account.configuration(version: 3, epoch: 2))
        let read = try InitialConfiguration(String(decoding: initial.serialized, as: UTF8.self))
        #expect(read.account == account.name)
        #expect(read.epoch == 2)
        #expect(read.authority.absoluteString == TestAccount.authority)
        #expect(read.authorityPins == [TestAccount.pinA, TestAccount.pinB])
        #expect(read.configKeys == [account.jwk])
        #expect(read.configuration == initial.configuration)
        #expect(!read.usesDemoKeys)
        #expect(read.serialized == initial.serialized)
    }

    @Test("The configuration inside is used even when it has expired")
    func inner() throws {
        let state = try account.state()
        #expect(state.accepted.version == 1)
        #expect(state.accepted.expiresAt < Int64(Date().timeIntervalSince1970))
    }

    @Test("Empty text is rejected, and the error names the command that prints an initial configuration", arguments: ["", " ", "\n\t "])
    func empty(text: String) {
        let error = refusal(of: text)
        #expect(error?.code == .malformedInitialConfiguration)
        #expect(error?.message.contains("approov sdk -getConfig") == true)
    }

    @Test("Text that is not JSON is rejected", arguments: ["#account#base64=", "eyJhbGciOiJFUzI1NiJ9.e30.AA", "{", "[]]", "\u{feff}{}"])
    func notJSON(text: String) {
        #expect(refusal(of: text)?.code == .malformedJSON)
    }

    @Test("A file of 1 MiB is accepted; one byte more is rejected")
    func large() throws {
        let text = String(decoding: try account.initial().serialized, as: UTF8.self)
        _ = try InitialConfiguration(text + String(repeating: " ", count: 1024 * 1024 - text.utf8.count))
        #expect(refusal(of: text + String(repeating: " ", count: 1024 * 1024 - text.utf8.count + 1))?.code == .tooLarge)
    }

    @Test(
        "A missing member is rejected and named",
        arguments: ["account", "epoch", "authority", "authorityPins", "configKeys", "configuration"])
    func missing(name: String) throws {
        let error = try refusal(setting: name, to: nil)
        #expect(error?.code == .malformedMember)
        #expect(error?.member == name)
    }

    @Test("An account or epoch that differs from the configuration inside is rejected")
    func foreign() throws {
        #expect(try refusal(setting: "account", to: "other-account")?.code == .wrongAccount)
        #expect(try refusal(setting: "epoch", to: .integer(2))?.code == .wrongEpoch)
    }

    @Test("A configuration inside that was not signed by a key of the file is rejected")
    func unknownKey() throws {
        let stranger = PublicJWK(P256.Signing.PrivateKey().publicKey)
        let error = try refusal(setting: "configKeys", to: .array([stranger.json]))
        #expect(error?.code == .unknownSigner)
        #expect(error?.member == "configuration")
    }

    @Test("A malformed authority pin is rejected, and so are fewer than two different ones")
    func pins() throws {
        #expect(
            try refusal(setting: "authorityPins", to: .array([.string(TestAccount.pinA), "sha256/AAAA"]))?.member == "authorityPins[1]")
        for pins in [[], [TestAccount.pinA], [TestAccount.pinA, TestAccount.pinA]] as [[String]] {
            let error = try refusal(setting: "authorityPins", to: .array(pins.map { .string($0) }))
            #expect(error?.code == .malformedInitialConfiguration)
            #expect(error?.member == "authorityPins")
        }
    }

    @Test("A repeated authority pin is rejected, even beside another pin or without its sha256/ prefix")
    func repeatedPins() throws {
        for repeated in [TestAccount.pinA, String(TestAccount.pinA.dropFirst(7))] {
            for pins in [[TestAccount.pinA, repeated, TestAccount.pinB], [TestAccount.pinB, TestAccount.pinA, repeated]] {
                let error = try refusal(setting: "authorityPins", to: .array(pins.map { .string($0) }))
                #expect(error?.code == .malformedConfiguration)
                #expect(error?.member == "authorityPins")
            }
        }
    }

    @Test("A malformed pin in the configuration inside is rejected")
    func innerPins() throws {
        let bad = account.configuration(version: 1) { $0.hosts["api.test"]?.pins = [TestAccount.pinA, "sha256/x"] }
        let error = try refusal(setting: "configuration", to: try account.signedAnyway(bad.json.serialized()))
        #expect(error?.member == "configuration.hosts.api.test.pins[1]")
    }

    @Test(
        "An authority that is not an https URL without user, query and fragment is rejected",
        arguments: [
            "http://authority.example.com", "http://127.0.0.1:8080", "authority.example.com", "", "https://", "https:///path", "ftp://a",
            "https://user:pass@authority.example.com", "https://user@authority.example.com", "https://a.example.com?x=1",
            "https://a.example.com#f",
            "https://a.example.com\n", " https://a.example.com", "javascript:alert(1)",
        ])
    func authority(url: String) throws {
        let error = try refusal(setting: "authority", to: .string(url))
        #expect(error?.code == .malformedInitialConfiguration)
        #expect(error?.member == "authority")
    }

    @Test("An empty list of keys, a repeated key and a malformed key are rejected")
    func keys() throws {
        #expect(try refusal(setting: "configKeys", to: .array([]))?.code == .malformedConfiguration)
        #expect(try refusal(setting: "configKeys", to: .array([account.jwk.json, account.jwk.json]))?.code == .malformedConfiguration)
        #expect(try refusal(setting: "configKeys", to: .array(["key"]))?.code == .malformedKey)
    }

    @Test("Trust roots that contain no certificate, or a private key, are rejected")
    func roots() throws {
        for text in ["roots.pem", "", account.key.pemRepresentation] {
            #expect(try refusal(setting: "trustRoots", to: .string(text))?.member == "trustRoots")
        }
    }
}
