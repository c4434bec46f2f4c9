import ApproovBase
import Approov
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Glibc
import Testing

@Suite struct ApproovConfigurationTests {
    let account: TestAccount

    init() throws { account = try TestAccount() }

    private func text() throws -> String { String(decoding: try account.initial().serialized, as: UTF8.self) }

    @Test("A valid configuration is read from text and from a file")
    func sound() throws {
        let text = try text()
        let configuration = try ApproovConfiguration(text)
        #expect(configuration.initial.account == "test-account")
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "approov-initial.config")
        try text.write(to: file, atomically: true, encoding: .utf8)
        #expect(try ApproovConfiguration(contentsOf: file).initial.serialized == configuration.initial.serialized)
    }

    @Test("Text that is not a configuration is rejected", arguments: ["", " \n", "{", "[]", "null", "{}", "hello", "{\"account\":\"a\"}"])
    func malformed(_ text: String) {
        #expect(code(as: ApproovError.self) { try ApproovConfiguration(text) } == .configurationError)
    }

    @Test("Trailing data, a repeated member and text larger than 1 MiB are rejected")
    func strict() throws {
        let sound = try text()
        for text in [
            sound + "x", sound.replacing("{\"account\"", with: "{\"account\":\"b\",\"account\"", maxReplacements: 1),
            sound + String(repeating: " ", count: 1 << 20),
        ] {
            #expect(code(as: ApproovError.self) { try ApproovConfiguration(text) } == .configurationError)
        }
    }

    @Test("An inner configuration that another key signed, or that names another account, is rejected")
    func foreign() throws {
        let other = try TestAccount()
        let signature = try other.signed(other.configuration())
        #expect(throws: (any Error).self) {
            try InitialConfiguration(
                account: account.name, epoch: 1, authority: try #require(URL(string: TestAccount.authority)),
                authorityPins: [TestAccount.pinA, TestAccount.pinB], configKeys: [PublicJWK(account.key.publicKey)],
                configuration: signature)
        }
        let renamed = try text().replacing("\"account\":\"test-account\"", with: "\"account\":\"someone-else\"")
        #expect(code(as: ApproovError.self) { try ApproovConfiguration(renamed) } == .configurationError)
    }

    @Test(
        "A malformed authority pin is rejected, and the error names `authorityPins`",
        arguments: ["sha256/AAAA", "sha1/" + TestAccount.pinA.dropFirst(7), "sha256/ " + TestAccount.pinA.dropFirst(7), "", "sha256/"])
    func pins(_ pin: String) throws {
        let text = try text().replacing(TestAccount.pinA, with: pin)
        #expect {
            try ApproovConfiguration(text)
        } throws: { error in
            "\(error)".contains("authorityPins") && (error as? ApproovError)?.code == .configurationError
        }
    }

    @Test(
        "One host name that is not a valid pattern makes the whole configuration invalid",
        arguments: ["*", "*.com", "a b.test", "x@api.test", "127.1", "0x7f000001", "api..test", "-a.test", "%61pi.test", "*.127.0.0.1"])
    func hosts(_ host: String) throws {
        let account = account
        #expect(throws: (any Error).self) {
            try ApproovConfiguration(account.initial(account.configuration(hosts: ["api.test": .pinned, host: .pinned])))
        }
    }

    @Test("Two entries for one host in different spellings are rejected")
    func duplicates() throws {
        #expect(
            code(as: ApproovError.self) {
                try ApproovConfiguration(account.initial(account.configuration(hosts: ["api.test": .pinned, "API.test.": .pinned])))
            } == .configurationError)
    }

    @Test("Trust roots that are not certificates are rejected, for a host and for the authority")
    func roots() throws {
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        #expect(
            code(as: ApproovError.self) {
                try ApproovConfiguration(
                    account.initial(account.configuration(hosts: ["api.test": .pinned.with { $0.trustRoots = broken }])))
            } == .configurationError)
        let text = try text().replacing(
            String(decoding: JSONValue.string(account.root.pem).serialized(), as: UTF8.self),
            with: String(decoding: JSONValue.string(broken).serialized(), as: UTF8.self))
        #expect(code(as: ApproovError.self) { try ApproovConfiguration(text) } == .configurationError)
    }

    @Test("A missing file, a folder, a FIFO, a device, an oversized file and a remote URL are rejected without blocking")
    func files() throws {
        let folder = try TemporaryFolder()
        #expect {
            try ApproovConfiguration(contentsOf: folder.url.appending(path: "missing"))
        } throws: {
            "\($0)".contains("missing")
        }
        #expect(code(as: ApproovError.self) { try ApproovConfiguration(contentsOf: folder.url) } == .configurationError)
        #expect(mkfifo(folder.path("fifo"), 0o600) == 0)
        #expect(
            code(as: ApproovError.self) { try ApproovConfiguration(contentsOf: folder.url.appending(path: "fifo")) } == .configurationError)
        #expect(code(as: ApproovError.self) { try ApproovConfiguration(contentsOf: URL(filePath: "/dev/zero")) } == .configurationError)
        try Data(count: (1 << 20) + 1).write(to: folder.url.appending(path: "large"))
        #expect(
            code(as: ApproovError.self) { try ApproovConfiguration(contentsOf: folder.url.appending(path: "large")) } == .configurationError
        )
        #expect(
            code(as: ApproovError.self) {
                try ApproovConfiguration(contentsOf: try #require(URL(string: "https://api.test/approov-initial.config")))
            } == .configurationError)
    }
}
