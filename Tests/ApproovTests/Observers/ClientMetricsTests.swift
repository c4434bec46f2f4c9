import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Metrics
import MetricsTestKit
import Testing

@testable import Approov

@Suite struct ClientMetricsTests {
    private let factory = TestMetrics()

    private func dimensions(_ method: String, _ host: String, attested: Bool, _ last: (String, String)? = nil) -> [(String, String)] {
        let all = [("method", method), ("host", host), ("attested", "\(attested)"), ("oblivious", "false")]
        return all + (last.map { [$0] } ?? [])
    }

    @Test("Calls are counted by method, class of status and whether they are attested, and timed on the session's clock")
    func calls() async throws {
        let world = try World()
        world.api.value = { request in
            world.clock.advance(by: .milliseconds(250))
            return TransportResponse(status: request.url.target == "/" ? 201 : 404, url: request.url)
        }
        let session = try world.configured { $0.metrics = ClientMetrics(factory: factory, hosts: ["API.test"]) }
        for path in ["/", "/", "/missing"] { _ = try await session.data(for: URLRequest("https://api.test\(path)")) }
        _ = try await session.data(for: URLRequest("https://elsewhere.test/", method: "POST"))
        func count(_ dimensions: [(String, String)]) throws -> Int64 {
            try factory.expectCounter("approov_client_calls", dimensions).totalValue
        }
        #expect(try count(dimensions("GET", "api.test", attested: true, ("status", "2xx"))) == 2)
        #expect(try count(dimensions("GET", "api.test", attested: true, ("status", "4xx"))) == 1)
        #expect(try count(dimensions("POST", "other", attested: false, ("status", "2xx"))) == 1)
        let timer = try factory.expectTimer("approov_client_duration", dimensions("GET", "api.test", attested: true))
        #expect(timer.values == [250_000_000, 250_000_000, 250_000_000])
    }

    @Test("Failures are counted by code, and one before anything was sent has no host")
    func failures() async throws {
        let world = try World()
        world.api.value = { _ in throw TransportError(.connectionLost, "gone") }
        let session = try world.configured { $0.metrics = ClientMetrics(factory: factory) }
        _ = try? await session.data(for: URLRequest("https://api.test/"))
        _ = try? await session.data(for: URLRequest("http://api.test/"))
        func count(_ dimensions: [(String, String)]) throws -> Int64 {
            try factory.expectCounter("approov_client_failures", dimensions).totalValue
        }
        #expect(try count(dimensions("GET", "other", attested: true, ("code", "networkingError"))) == 1)
        #expect(try count(dimensions("GET", "none", attested: false, ("code", "pinningError"))) == 1)
    }

    /// Counts another call over the same counters while it makes its first counter.
    private final class Reentrant: MetricsFactory {
        let inner = TestMetrics()
        let counters = Shared<ClientCounters?>(nil)
        let target: CallTarget

        init(_ target: CallTarget) { self.target = target }

        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            let own = counters.change { counters in
                defer { counters = nil }
                return counters
            }
            own?.finished(method: "GET", target: target, status: 200, duration: .seconds(1))
            return inner.makeCounter(label: label, dimensions: dimensions)
        }

        func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
            inner.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
        }

        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
            inner.makeTimer(label: label, dimensions: dimensions)
        }

        func destroyCounter(_ handler: any CounterHandler) { inner.destroyCounter(handler) }

        func destroyRecorder(_ handler: any RecorderHandler) { inner.destroyRecorder(handler) }

        func destroyTimer(_ handler: any TimerHandler) { inner.destroyTimer(handler) }
    }

    @Test("A factory may count over the same counters, and no call is lost")
    func reentrant() throws {
        let request = try TransportRequest(
            url: TransportURL("https://api.test/"), policy: TrustPolicy(rules: HostMap([]), defaultAnchors: .system()))
        let factory = Reentrant(CallTarget(request, masks: try PathMasks(), isAttested: false, isOblivious: false))
        let counters = ClientCounters(ClientMetrics(factory: factory, hosts: ["api.test"]))
        factory.counters.value = counters
        counters.finished(method: "GET", target: factory.target, status: 204, duration: .seconds(2))
        let counter = try factory.inner.expectCounter(
            "approov_client_calls", dimensions("GET", "api.test", attested: false, ("status", "2xx")))
        #expect(counter.totalValue == 2)
        let timer = try factory.inner.expectTimer("approov_client_duration", dimensions("GET", "api.test", attested: false))
        #expect(timer.values == [1_000_000_000, 2_000_000_000])
    }

    @Test("Every code of ApproovError has its own label")
    func codes() throws {
        let source = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/Approov/ApproovError.swift")
        let names = try String(contentsOf: source, encoding: .utf8).matches(of: /static let (\w+) = Code\(/).map { String($0.output.1) }
        #expect(names.count > 15)
        for name in names { #expect(FailureLabel.of(ApproovError.Code(rawValue: name)) == name) }
    }

    @Test("What users, servers and the app choose makes no new labels")
    func bounded() async throws {
        struct Failing: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                throw ApproovError(.init(rawValue: request.url?.path() ?? ""), "own")
            }
        }
        let world = try World()
        let session = try world.configured { $0.metrics = ClientMetrics(factory: factory) }
        for number in 0..<50 {
            _ = try await session.data(for: URLRequest("https://host\(number).test/\(number)", method: "M\(number)"))
        }
        #expect(factory.counters.count == 1)
        let failing = try world.configured {
            $0.metrics = ClientMetrics(factory: factory)
            $0.interceptors = [Failing()]
        }
        for number in 0..<50 { _ = try? await failing.data(for: URLRequest("https://api.test/\(number)")) }
        #expect(factory.counters.count == 2)
        let many = ClientMetrics(factory: factory, hosts: Set((0..<1_000).map { "host\($0)" }))
        #expect(many.hosts.count == ClientMetrics.maximumHosts)
    }
}
