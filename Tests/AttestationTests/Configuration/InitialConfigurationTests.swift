import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

/// Covers A15 of the list of traps.
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

    @Test("what is written is read back")
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

    @Test("its inner configuration does not expire")
    func inner() throws {
        let state = try account.state()
        #expect(state.accepted.version == 1)
        #expect(state.accepted.expiresAt < Int64(Date().timeIntervalSince1970))
    }

    @Test("an empty text is refused with the command that makes a good one", arguments: ["", " ", "\n\t "])
    func empty(text: String) {
        let error = refusal(of: text)
        #expect(error?.code == .malformedInitialConfiguration)
        #expect(error?.message.contains("approov sdk -getConfig") == true)
    }

    @Test("text that is not JSON is refused", arguments: ["#account#base64=", "eyJhbGciOiJFUzI1NiJ9.e30.AA", "{", "[]]", "\u{feff}{}"])
    func notJSON(text: String) {
        #expect(refusal(of: text)?.code == .malformedJSON)
    }

    @Test("a file of more than 1 MiB is refused")
    func large() throws {
        let text = String(decoding: try account.initial().serialized, as: UTF8.self)
        _ = try InitialConfiguration(text + String(repeating: " ", count: 1024 * 1024 - text.utf8.count))
        #expect(refusal(of: text + String(repeating: " ", count: 1024 * 1024 - text.utf8.count + 1))?.code == .tooLarge)
    }

    @Test(
        "a missing member is named",
        arguments: ["account", "epoch", "authority", "authorityPins", "configKeys", "configuration"])
    func missing(name: String) throws {
        let error = try refusal(setting: name, to: nil)
        #expect(error?.code == .malformedMember)
        #expect(error?.member == name)
    }

    @Test("another account or epoch than that of its inner configuration is refused")
    func foreign() throws {
        #expect(try refusal(setting: "account", to: "other-account")?.code == .wrongAccount)
        #expect(try refusal(setting: "epoch", to: .integer(2))?.code == .wrongEpoch)
    }

    @Test("an inner configuration that no key of the file signed is refused")
    func unknownKey() throws {
        let stranger = PublicJWK(P256.Signing.PrivateKey().publicKey)
        let error = try refusal(setting: "configKeys", to: .array([stranger.json]))
        #expect(error?.code == .unknownSigner)
        #expect(error?.member == "configuration")
    }

    @Test("a malformed or a single pin of the authority is refused")
    func pins() throws {
        #expect(
            try refusal(setting: "authorityPins", to: .array([.string(TestAccount.pinA), "sha256/AAAA"]))?.member == "authorityPins[1]")
        for pins in [[], [TestAccount.pinA], [TestAccount.pinA, TestAccount.pinA]] as [[String]] {
            let error = try refusal(setting: "authorityPins", to: .array(pins.map { .string($0) }))
            #expect(error?.code == .malformedInitialConfiguration)
            #expect(error?.member == "authorityPins")
        }
    }

    @Test("a key of the authority that is pinned twice is refused, also beside another one and in its two spellings")
    func repeatedPins() throws {
        for repeated in [TestAccount.pinA, String(TestAccount.pinA.dropFirst(7))] {
            for pins in [[TestAccount.pinA, repeated, TestAccount.pinB], [TestAccount.pinB, TestAccount.pinA, repeated]] {
                let error = try refusal(setting: "authorityPins", to: .array(pins.map { .string($0) }))
                #expect(error?.code == .malformedConfiguration)
                #expect(error?.member == "authorityPins")
            }
        }
    }

    @Test("a malformed pin in the inner configuration is refused")
    func innerPins() throws {
        let bad = account.configuration(version: 1) { $0.hosts["api.test"]?.pins = [TestAccount.pinA, "sha256/x"] }
        let error = try refusal(setting: "configuration", to: try account.signedAnyway(bad.json.serialized()))
        #expect(error?.member == "configuration.hosts.api.test.pins[1]")
    }

    @Test(
        "an authority that is not an https URL is refused",
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

    @Test("no key, a key twice and something that is not a key are refused")
    func keys() throws {
        #expect(try refusal(setting: "configKeys", to: .array([]))?.code == .malformedConfiguration)
        #expect(try refusal(setting: "configKeys", to: .array([account.jwk.json, account.jwk.json]))?.code == .malformedConfiguration)
        #expect(try refusal(setting: "configKeys", to: .array(["key"]))?.code == .malformedKey)
    }

    @Test("trust roots that are not certificates, or hold a private key, are refused")
    func roots() throws {
        for text in ["roots.pem", "", account.key.pemRepresentation] {
            #expect(try refusal(setting: "trustRoots", to: .string(text))?.member == "trustRoots")
        }
    }
}
