import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import InMemoryTracing
import Instrumentation
import Testing
import Tracing

@testable import Approov

@Suite struct CallTracingTests {
    private let tracer = InMemoryTracer()
    private let name = HTTPField.Name(InMemoryTracer.traceIDKey)

    private func session(_ world: World, _ change: (inout ApproovSessionConfiguration) throws -> Void = { _ in }) throws -> ApproovSession {
        try world.configured {
            $0.tracer = tracer
            try change(&$0)
        }
    }

    private func span() throws -> FinishedInMemorySpan {
        #expect(tracer.activeSpans.isEmpty)
        #expect(tracer.finishedSpans.count == 1)
        return try #require(tracer.finishedSpans.first)
    }

    @Test("A call is one client span with the conventions' attributes and no value of the query")
    func attributes() async throws {
        let world = try World()
        world.api.value = { TransportResponse(status: 200, version: "HTTP/2", url: $0.url) }
        let session = try session(world) { $0.maskedPaths = ["/reset/*"] }
        _ = try await session.data(for: URLRequest("https://api.test:8443/reset/secret?code=secret&secret", ["X-Secret": "secret"]))
        let span = try span()
        #expect(span.operationName == "GET" && span.kind == .client && span.status == nil)
        #expect(span.attributes["http.request.method"]?.toSpanAttribute() == .string("GET"))
        #expect(span.attributes["server.address"]?.toSpanAttribute() == .string("api.test"))
        #expect(span.attributes["server.port"]?.toSpanAttribute() == .int64(8443))
        #expect(
            span.attributes["url.full"]?.toSpanAttribute() == .string("https://api.test:8443/reset/*?code=REDACTED&REDACTED"))
        #expect(span.attributes["http.response.status_code"]?.toSpanAttribute() == .int64(200))
        #expect(span.attributes["network.protocol.version"]?.toSpanAttribute() == .string("2"))
        #expect(span.attributes["approov.attested"]?.toSpanAttribute() == .bool(true))
        #expect(span.attributes["approov.oblivious"]?.toSpanAttribute() == .bool(false))
        #expect(span.attributes["error.type"] == nil && span.attributes["http.request.resend_count"] == nil)
        span.attributes.forEach { name, value in #expect(!"\(value)".contains("secret"), "\(name)") }
    }

    @Test("The tracer's context goes with the request, and the span is a child of the task's")
    func propagation() async throws {
        let world = try World()
        let session = try session(world)
        let name = try #require(name)
        let parent = tracer.startAnySpan("parent")
        _ = try await ServiceContext.withValue(parent.context) { try await session.data(for: URLRequest("https://api.test/")) }
        parent.end()
        let call = try #require(tracer.finishedSpans.first { $0.kind == .client })
        let outer = try #require(tracer.finishedSpans.first { $0.kind != .client })
        #expect(call.parentSpanID == outer.spanID && call.traceID == outer.traceID)
        #expect(world.apiRequests.first?.headerFields[name] == call.traceID)
    }

    @Test("The context does not go to another origin, and never over a relay")
    func limits() async throws {
        let world = try World(hosts: ["api.test": .pinned, "other.test": .pinned, "hidden.test": .pinned.with { $0.oblivious = true }])
        world.api.value = { request in
            switch (request.url.host.name, request.url.target) {
            case ("api.test", "/"): TransportResponse(status: 307, headerFields: [.location: "/b"], url: request.url)
            case ("api.test", _):
                TransportResponse(status: 307, headerFields: [.location: "https://other.test/"], url: request.url)
            default: TransportResponse(status: 200, url: request.url)
            }
        }
        let name = try #require(name)
        let session = try session(world)
        _ = try await session.data(for: URLRequest("https://api.test/"))
        #expect(world.apiRequests.map { $0.headerFields[name] != nil } == [true, true, false])
        #expect(try span().attributes["http.request.resend_count"]?.toSpanAttribute() == .int64(2))
        tracer.clearAll()
        _ = try? await session.data(for: URLRequest("https://hidden.test/"))
        #expect(!world.relayRequests.isEmpty)
        #expect(tracer.performedContextInjections.isEmpty)
        #expect(try span().attributes["approov.oblivious"]?.toSpanAttribute() == .bool(true))
    }

    @Test("A status of failure and a failed call set the error, and a method that is not known has one name")
    func errors() async throws {
        let world = try World()
        world.api.value = { request in
            guard request.url.target == "/" else { throw TransportError(.connectionLost, "gone") }
            return TransportResponse(status: 404, url: request.url)
        }
        let session = try session(world)
        _ = try await session.data(for: URLRequest("https://api.test/", method: "X-USER-CHOICE"))
        var span = try span()
        #expect(span.operationName == "HTTP" && span.status?.code == .error)
        #expect(span.attributes["http.request.method"]?.toSpanAttribute() == .string("_OTHER"))
        #expect(span.attributes["error.type"]?.toSpanAttribute() == .string("404"))
        tracer.clearAll()
        _ = try? await session.data(for: URLRequest("https://api.test/lost"))
        span = try self.span()
        #expect(span.attributes["error.type"]?.toSpanAttribute() == .string("networkingError") && span.status?.code == .error)
        tracer.clearAll()
        _ = try? await session.data(for: URLRequest("http://api.test/"))
        span = try self.span()
        #expect(span.attributes["error.type"]?.toSpanAttribute() == .string("pinningError"))
        #expect(span.attributes["server.address"] == nil)
    }

    /// Writes fields that a tracer must not set.
    struct Greedy: Instrument {
        func extract<Carrier, Extract: Extractor>(_ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract)
        where Extract.Carrier == Carrier {}
        func inject<Carrier, Inject: Injector>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
        where Inject.Carrier == Carrier {
            for name in ["Authorization", "Approov-Token", "Host", "X-Bound", "bad name", ":path", "Cookie"] {
                injector.inject("forged", forKey: name, into: &carrier)
            }
            injector.inject("a\r\nEvil: b", forKey: "baggage", into: &carrier)
            injector.inject("00-1-2-01", forKey: "traceparent", into: &carrier)
        }
    }

    @Test("A tracer's field replaces all fields of that name, whatever their case, and leaves the others in order")
    func replacing() throws {
        var fields = HTTPFields()
        for (name, value) in [("Accept", "a"), ("Traceparent", "1"), ("Via", "b"), ("TRACEPARENT", "2"), ("Via", "c")] {
            fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        FieldInjector(reserved: []).inject("00-1-2-01", forKey: "traceparent", into: &fields)
        let name = try #require(HTTPField.Name("traceparent"))
        #expect(fields[values: name] == ["00-1-2-01"])
        #expect(fields.filter { $0.name != name }.map { "\($0.name): \($0.value)" } == ["Accept: a", "Via: b", "Via: c"])
    }

    @Test("A tracer can set neither the session's own fields nor malformed ones")
    func greedy() throws {
        var fields: HTTPFields = [.authorization: "own"]
        let names = try TokenHeaderNames(TokenHeader(), bindHeaders: ["X-Bound"])
        let reserved = PerRequestHeaderStation.reserved(names: names, substitutedHeaders: [])
        Greedy().inject(ServiceContext.topLevel, into: &fields, using: FieldInjector(reserved: reserved))
        #expect(fields.map { "\($0.name): \($0.value)" } == ["Authorization: own", "traceparent: 00-1-2-01"])
    }
}
