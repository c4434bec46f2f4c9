import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import Logging
import HTTPTypes
import Testing

@testable import Approov

// Acceptance list: S1.26
@Suite struct ViolationReportsTests {
    private let world: World
    private let root: TestCertificate
    private let leaf: TestCertificate
    private let server = ReportServer()

    /// Receives reports, and answers as the test decides.
    private final class ReportServer: HTTPTransport {
        let answer = Shared<@Sendable () async throws -> Int>({ 204 })
        let received = Shared<[TransportRequest]>([])

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            received.change { $0.append(request) }
            return TransportResponse(status: try await answer.value(), url: request.url)
        }

        func report(_ index: Int = 0) async throws -> [String: Any] {
            let request = try await request(index)
            guard case .bytes(let bytes) = request.body else { throw CocoaError(.coderInvalidValue) }
            return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        }

        func request(_ index: Int) async throws -> TransportRequest {
            try #require(await eventually { self.received.value.count > index })
            return received.value[index]
        }
    }

    init() throws {
        let account = try TestAccount()
        // Valid at the world's time and at the system's.
        root = try TestPKI.root(
            validity: ManualClock().date.addingTimeInterval(-86_400)...Date().addingTimeInterval(86_400))
        leaf = try TestPKI.leaf(hosts: ["api.test", "soft.test", "own.site.test"], issuer: root)
        let hosts = [
            "api.test": HostSettings.pinned.with { $0.pinsExpireAt = 1_800_000_000 },
            "soft.test": HostSettings.pinned.with {
                $0.enforce = false
                $0.includeSubdomains = true
            },
        ]
        var certificates = ["api.test": leaf, "soft.test": leaf, "own.site.test": leaf]
        certificates["path.test"] = try TestPKI.leaf(hosts: ["path.test"], issuer: nil)
        world = try World(account: account, hosts: hosts, certificates: certificates)
    }

    private func manager(
        _ evaluators: [String: any ServerTrustEvaluating] = [:], to url: String = "https://reports.test/v1",
        logger: Logger = .silent
    ) throws -> ApproovTrustManager {
        let reports = ViolationReports(
            to: try #require(URL(string: url)), anchors: .of(root), appID: "org.test.app", appVersion: "1.2", vendorID: "v",
            transport: server)
        return ApproovTrustManager(evaluators: evaluators, anchors: .of(root), reports: reports, clock: world.clock, logger: logger)
    }

    private func get(_ host: String, _ session: ApproovSession) async -> ApproovError? {
        do {
            var request = URLRequest(url: URL(string: "https://\(host)/secret-path") ?? URL(filePath: "/"))
            request.setValue("Bearer secret-value", forHTTPHeaderField: "Authorization")
            _ = try await session.data(for: request)
            return nil
        } catch {
            return error as? ApproovError
        }
    }

    @Test("A refused server is reported with all of TrustKit's members and nothing of the request")
    func refused() async throws {
        let session = try world.session(trustManager: manager())
        #expect(await get("api.test", session)?.code == .pinningError)
        let request = try await server.request(0)
        #expect(request.method == .post && request.url.description == "https://reports.test/v1")
        #expect(request.headerFields[.contentType] == "application/json")
        #expect(!request.policy.hasRule(for: request.url.host))
        let report = try await server.report()
        #expect(
            Set(report.keys) == [
                "app-bundle-id", "app-version", "app-vendor-id", "app-platform", "app-platform-version", "trustkit-version", "hostname",
                "port", "noted-hostname", "include-subdomains", "enforce-pinning", "validated-certificate-chain", "known-pins",
                "date-time", "validation-result", "known-pins-expiration-date",
            ])
        #expect(report["app-bundle-id"] as? String == "org.test.app" && report["app-version"] as? String == "1.2")
        #expect(report["app-vendor-id"] as? String == "v" && report["app-platform"] as? String == "LINUX")
        #expect(report["hostname"] as? String == "api.test" && report["noted-hostname"] as? String == "api.test")
        #expect(report["port"] as? Int == 443 && report["include-subdomains"] as? Bool == false)
        #expect(report["enforce-pinning"] as? Bool == true && report["validation-result"] as? Int == 1)
        #expect(
            report["known-pins"] as? [String]
                == [TestAccount.pinA, TestAccount.pinB].sorted().map { #"pin-sha256="\#($0.dropFirst(7))""# })
        #expect(report["known-pins-expiration-date"] as? String == "2027-01-15")
        let date = try #require(report["date-time"] as? String)
        #expect(date.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil, "\(date)")
        let chain = try #require(report["validated-certificate-chain"] as? [String])
        #expect(try chain.map { try Certificate(pem: $0).der } == [leaf.der, root.der])
        guard case .bytes(let bytes) = request.body else { return }
        #expect(!String(decoding: bytes, as: UTF8.self).contains("secret"))
        #expect(!request.headerFields.contains { $0.value.contains("secret") })
    }

    @Test("A refusal of the authority's server is reported under the authority's pins, once a session has the manager")
    func authority() async throws {
        let impostor = try TestPKI.leaf(hosts: ["authority.test"], issuer: root)
        let world = try World(certificates: ["authority.test": impostor])
        let manager = try manager()
        let before = await world.service.fetchToken(for: try #require(URL(string: "https://api.test/")), binding: nil)
        #expect(before.status != .success && server.received.value.isEmpty)
        let sessions = try [world.session(trustManager: manager), world.session(trustManager: manager)]
        var violations = manager.violations().makeAsyncIterator()
        // The client does not ask the authority for a second after the first refusal.
        world.clock.advance(by: .seconds(10))
        _ = await world.service.fetchToken(for: try #require(URL(string: "https://api.test/")), binding: nil)
        let violation = try #require(await violations.next())
        #expect(violation.host == "authority.test" && violation.notedHost == "authority.test" && violation.isRefused)
        #expect(violation.knownPins.map(\.description) == [TestAccount.pinA, TestAccount.pinB].sorted())
        let report = try await server.report()
        #expect(report["hostname"] as? String == "authority.test" && report["enforce-pinning"] as? Bool == true)
        withExtendedLifetime(sessions) {}
    }

    @Test("Pins that are not enforced let the request through, and are reported as not enforced")
    func reportOnly() async throws {
        let session = try world.session(trustManager: manager())
        #expect(await get("soft.test", session) == nil)
        let report = try await server.report()
        #expect(report["enforce-pinning"] as? Bool == false && report["validation-result"] as? Int == 1)
        #expect(report["include-subdomains"] as? Bool == true)
        #expect(report["known-pins-expiration-date"] == nil)
    }

    @Test("A mismatch in the caller's own report-only evaluator, and an invalid certificate path, are reported")
    func own() async throws {
        let pins = try PublicKeysTrustEvaluator(pins: [Pin(TestAccount.pinA), Pin(TestAccount.pinB)])
        let session = try world.session(
            trustManager: manager(["*.site.test": ReportOnlyTrustEvaluator(pins), "path.test": DefaultTrustEvaluator()]))
        #expect(await get("own.site.test", session) == nil)
        #expect(await get("path.test", session)?.code == .pinningError)
        let own = try await server.report(0)
        #expect(own["hostname"] as? String == "own.site.test" && own["noted-hostname"] as? String == "*.site.test")
        #expect(own["enforce-pinning"] as? Bool == false && (own["known-pins"] as? [String])?.count == 2)
        let path = try await server.report(1)
        #expect(path["hostname"] as? String == "path.test" && path["validation-result"] as? Int == 2)
        #expect((path["validated-certificate-chain"] as? [String])?.count == 1 && (path["known-pins"] as? [String])?.isEmpty == true)
    }

    @Test("The same violation is reported to the server once in 24 hours, and to the app every time")
    func once() async throws {
        let manager = try manager()
        let session = try world.session(trustManager: manager)
        var violations = manager.violations().makeAsyncIterator()
        for _ in 0..<5 {
            _ = await get("api.test", session)
            let violation = try #require(await violations.next())
            #expect(violation.host == "api.test" && violation.isRefused && violation.refusal.reason == .pinMismatch)
        }
        _ = try await server.request(0)
        world.clock.setDate(world.clock.date.addingTimeInterval(90_000))
        world.clock.advance(by: .seconds(86_400))
        _ = await get("api.test", session)
        _ = try await server.request(1)
        #expect(server.received.value.count == 2)
    }

    @Test("Each of two listeners that read late still gets 64 violations")
    func listeners() async throws {
        let manager = try manager()
        let session = try world.session(trustManager: manager)
        let (first, second) = (manager.violations(), manager.violations())
        for _ in 0..<80 { _ = await get("soft.test", session) }
        for stream in [first, second] {
            var count = 0
            for await violation in stream {
                #expect(!violation.isRefused)
                count += 1
                if count == 64 { break }
            }
            #expect(count == 64)
        }
    }

    @Test("A report server that never answers delays no evaluation, and gets one report at a time")
    func deadServer() async throws {
        server.answer.value = {
            try await waitForCancellation()
        }
        let evaluators = try (0..<100).map { number in
            try ("h\(number).test", PublicKeysTrustEvaluator(pins: [Pin(TestAccount.pinA), Pin(TestAccount.pinB)]))
        }
        let manager = try manager(Dictionary(uniqueKeysWithValues: evaluators))
        let policy = try manager.policy(protecting: [])
        let anchors = try #require(TrustAnchors.of(root))
        for number in 0..<100 {
            let host = try CanonicalHost("h\(number).test")
            let leaf = try TestPKI.leaf(hosts: [host.name], issuer: root)
            _ = ChainValidator.evaluate(
                chain: [try Certificate(der: leaf.der)], host: host, rule: try policy.rule(for: host), defaultAnchors: anchors,
                time: Date())
        }
        _ = try await server.request(0)
        #expect(server.received.value.count == 1)
    }

    @Test("After a failure no violation is reported for a minute, and then the same one may be reported again", arguments: [500, nil])
    func failingServer(status: Int?) async throws {
        server.answer.value = {
            guard let status else { throw CocoaError(.fileReadUnknown) }
            return status
        }
        let log = LogRecord()
        let session = try world.session(trustManager: manager(logger: log.logger))
        _ = await get("api.test", session)
        _ = try await server.request(0)
        // The client notes the failure after the answer, and then logs it.
        #expect(await eventually { log.lines.contains { $0.contains("no violation is reported for a minute") } })
        // Reports are sent one at a time, so a report about this host would be the second one.
        _ = await get("soft.test", session)
        world.clock.advance(by: .seconds(60))
        _ = await get("api.test", session)
        #expect(try await server.report(1)["hostname"] as? String == "api.test")
    }

    @Test(
        "An invalid report URL is rejected when the session is made",
        arguments: ["http://reports.test/", "ftp://reports.test/", "https://user@reports.test/", "file:///tmp/x", "relative"])
    func malformedURL(url: String) throws {
        let manager = try manager(to: url)
        let error = #expect(throws: ApproovError.self) { try world.session(trustManager: manager) }
        #expect(error?.code == .configurationError)
        #expect(["reports to", "reported to"].contains { error?.description.contains($0) == true })
    }

    @Test(
        "Reports may go over plain HTTP to a loopback address",
        arguments: ["http://localhost:1/", "http://127.0.0.1:1/", "http://[::1]:1/"])
    func loopback(url: String) throws {
        _ = try world.session(trustManager: manager(to: url))
    }
}
