import Approov
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import Testing

@testable import APIClient

// Acceptance list: S3.22
@Suite struct APIEnvironmentTests {
    private let url: URL

    init() throws { url = try #require(URL(string: "https://api.test/v1/")) }

    @Test(
        "A name that could lead out of the state's folder is refused",
        arguments: ["", ".", "..", "../x", "a/b", ".hidden", "ä", "a b", "a\0b", String(repeating: "a", count: 65)])
    func names(name: String) {
        #expect(throws: APIError(.invalidEnvironment, "")) { try APIEnvironment(name, baseURL: url, source: .remote(configuration: nil)) }
    }

    @Test(
        "A base URL is https, or http on this machine, and has no query, fragment or user",
        arguments: [
            ("https://api.test/v1/", true), ("http://localhost:8080/", true), ("http://api.test/", false), ("file:///etc/passwd", false),
            ("https://api.test/?a=b", false), ("https://api.test/#a", false), ("https://user:canary@api.test/", false), ("/v1", false),
        ])
    func baseURLs(text: String, isValid: Bool) throws {
        let url = try #require(URL(string: text))
        do {
            _ = try APIEnvironment("a", baseURL: url, source: .remote(configuration: nil))
            #expect(isValid)
        } catch let error as APIError {
            #expect(!isValid && error.code == .invalidEnvironment && !"\(error)".contains("canary"))
        }
    }

    @Test("Only a debug build accepts that certificates are not validated")
    func dangerous() throws {
        func make() throws { _ = try APIEnvironment("a", baseURL: url, source: .remote(configuration: nil), trust: .dangerouslyDisabled) }
        if APIEnvironment.isDebugBuild { try make() } else { #expect(throws: APIError(.invalidEnvironment, "")) { try make() } }
    }

    @Test("Pins are the default")
    func defaults() throws {
        #expect(try APIEnvironment("a", baseURL: url, source: .remote(configuration: nil)).trust == .pinned)
    }
}

// Acceptance list: S3.16
@Suite struct APIEnvironmentFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func named(_ name: String, in text: String) throws -> APIEnvironment {
        try APIEnvironment.named(name, from: URL(filePath: folder.write(text, to: "approov-environments.json")))
    }

    @Test("Each environment of the file has its URL, trust, pins and source, with paths beside the file")
    func read() throws {
        let account = try TestAccount()
        try folder.write(account.initial(account.configuration()).serialized, to: "account.config")
        let text = """
            {"production": {"baseURL": "https://api.test/v1/", "configuration": "account.config"},
             "staging": {"baseURL": "https://staging.test/", "trust": "pathValidation", "pins": ["\(TestAccount.pinA)", "\(TestAccount.pinB)"]},
             "local": {"baseURL": "https://api.test/v1/", "recordings": "recorded"}}
            """
        let production = try named("production", in: text)
        guard case .remote(let configuration?) = production.source else {
            Issue.record("the configuration is missing")
            return
        }
        #expect(configuration.initial.account == account.name && production.trust == .pinned && production.pins.isEmpty)
        let staging = try named("staging", in: text)
        #expect(staging.trust == .pathValidation && staging.pins.count == 2 && staging.baseURL.host() == "staging.test")
        guard case .local(let recordings) = try named("local", in: text).source else {
            Issue.record("it is not local")
            return
        }
        #expect(recordings.absoluteURL.standardizedFileURL.path == folder.file("recorded").path)
    }

    @Test(
        "A file or member that is not valid is refused, by the name of the file",
        arguments: [
            "", "[]", "{", "{\"b\":{}}", "{\"a\":1}", "{\"a\":{}}", "{\"a\":{\"baseURL\":1}}", "{\"a\":{\"baseURL\":\"\"}}",
            "{\"a\":{\"baseURL\":\"https://api.test/\",\"trsut\":\"pinned\"}}",
            "{\"a\":{\"baseURL\":\"https://api.test/\",\"trust\":\"none\"}}",
            "{\"a\":{\"baseURL\":\"https://api.test/\",\"trust\":null}}",
            "{\"a\":{\"baseURL\":\"https://api.test/\",\"pins\":\"x\"}}", "{\"a\":{\"baseURL\":\"https://api.test/\",\"pins\":[1]}}",
            "{\"a\":{\"baseURL\":\"https://api.test/\",\"pins\":[\"sha256/x\"]}}",
            "{\"a\":{\"baseURL\":\"https://api.test/\",\"pins\":[]}}",
            "{\"a\":{\"baseURL\":\"https://api.test/\",\"configuration\":\"missing\"}}",
            "{\"a\":{\"baseURL\":\"https://api.test/\",\"configuration\":\"x\",\"recordings\":\"y\"}}",
            "{\"a\":{\"baseURL\":\"https://api.test/\"},\"a\":{\"baseURL\":\"https://other.test/\"}}",
        ])
    func refused(text: String) throws {
        let error = try #require(throws: APIError.self) { try named("a", in: text) }
        #expect(error.code == .invalidEnvironment && error.message.contains("approov-environments.json"))
    }

    @Test("A missing file is refused by its name, and an unknown name lists those that exist")
    func missing() throws {
        let error = try #require(throws: APIError.self) { try APIEnvironment.named("a", from: folder.file("none.json")) }
        #expect(error.message.contains("none.json"))
        let unknown = try #require(throws: APIError.self) { try named("a\n", in: "{\"staging\":{},\"production\":{}}") }
        #expect(unknown.message.contains("production, staging") && !unknown.message.contains("\n"))
    }
}
