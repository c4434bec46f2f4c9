import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import Foundation
import GRDB
import TestTags
import Testing

@testable import ApproovAuthority

/// What the authority does not reveal.
@Suite(.tags(.sockets)) struct AuthorityPrivacyTests {
    @Test("No log line contains a token, address, device ID or challenge, and a rejection's line has its ARC")
    func logs() async throws {
        let account = try await AuthorityBench()
        let record = LogRecord()
        let challenge = account.verifier.challenge().value
        let trusted = try await account.verifier.attest(account.evidence(challenge: challenge), from: "192.0.2.77", logger: record.logger)
        let rejected = try await account.verifier.attest(
            account.evidence { $0.environment = ["debugger"] }, from: "192.0.2.77", logger: record.logger)
        let text = record.lines.joined(separator: "\n")
        #expect(record.lines.count == 2)
        #expect(text.contains("debugger"))
        #expect(text.contains(rejected.traceID))
        let notice = try #require(record.lines.first { $0.hasPrefix("notice") })
        #expect(notice.contains(rejected.arc) && notice.contains("debugger"))
        for secret in [trusted.token, rejected.token, trusted.arc, "192.0.2.77", challenge, account.key.publicKeyText] {
            #expect(!text.contains(secret))
        }
        #expect(!text.contains(DeviceID(installationKey: account.key.publicKey).base64))
    }

    @Test("At most 30 rejections a minute are logged, and the next minute's first line counts those left out")
    func flood() async throws {
        let account = try await AuthorityBench()
        let record = LogRecord()
        for _ in 0..<40 {
            _ = try await account.verifier.attest(
                account.evidence { $0.environment = ["debugger"] }, from: "192.0.2.77", logger: record.logger)
        }
        func notices() -> [String] { record.lines.filter { $0.hasPrefix("notice") } }
        #expect(notices().count == 30)
        account.clock.advance(by: .seconds(60))
        _ = try await account.verifier.attest(account.evidence { $0.environment = ["debugger"] }, from: "192.0.2.77", logger: record.logger)
        #expect(notices().count == 31)
        #expect(notices().last?.contains(#""leftOut": 10"#) == true, "\(notices().last ?? "")")
    }

    @Test("A failing store is answered 500 without its error text, and the challenge is not spent")
    func storeFails() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        let configuration = AuthorityConfiguration.loopback(tls: .none)
        try await RunningAuthority.with(store: account.store, configuration: configuration, time: account.clock) { authority in
            let body = try account.evidence { $0.aud = authority.url.absoluteString }
            func post() async throws -> String {
                let client = try RawClient(port: authority.port)
                client.write(
                    "POST /v1/attestations HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/jose\r\n"
                        + "Content-Length: \(body.count)\r\n\r\n" + String(decoding: body, as: UTF8.self))
                return await client.readToEnd().text
            }
            try await account.store.database.connections.write { try $0.execute(sql: "ALTER TABLE redeemedChallenge RENAME TO gone") }
            let failed = try await post()
            #expect(failed.hasPrefix("HTTP/1.1 500"))
            #expect(failed.contains("urn:approov:problem:internal"))
            #expect(!failed.contains("redeemed"))
            #expect(!failed.contains("SQL"))
            try await account.store.database.connections.write { try $0.execute(sql: "ALTER TABLE gone RENAME TO redeemedChallenge") }
            #expect(try await post().hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("The demo account's published keys are rejected on an address that is not loopback")
    func demoKeys() async throws {
        let resources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/ApproovCLI/Resources")
        func text(_ name: String) throws -> String { try String(contentsOf: resources.appending(path: name).standardized, encoding: .utf8) }
        let line = try #require(try text("demo-only-account-secret.txt").split(separator: "\n").last)
        let secret = AccountSeed(secret: try AccountSecret(base64: String(line)))
        let pem = try text("demo-only-config-key.pem")
        let key = AccountSeed(configurationKey: try P256.Signing.PrivateKey(pemRepresentation: pem.fromPEMHeader))
        for seed in [secret, key] {
            let directory = try TemporaryFolder()
            let store = try AuthorityStore(directory: directory.url, seed: seed)
            _ = try Authority(store: store, configuration: AuthorityConfiguration(host: "127.0.0.1"), logger: .silent)
            await refuses(.demoKeysExposed) {
                _ = try Authority(store: store, configuration: AuthorityConfiguration(host: "0.0.0.0"), logger: .silent)
            }
        }
    }
}

extension P256.Signing.PrivateKey {
    fileprivate var publicKeyText: String { Base64.encode(publicKey.derRepresentation) }
}

extension String {
    /// The text without the warning before the PEM block.
    fileprivate var fromPEMHeader: String {
        range(of: "-----BEGIN").map { String(self[$0.lowerBound...]) } ?? self
    }
}
