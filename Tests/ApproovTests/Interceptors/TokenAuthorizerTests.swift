import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct TokenAuthorizerTests {
    private let request = URLRequest("https://api.test/shapes", ["Authorization": "Bearer of the request"])

    private func authorizer(
        _ world: World, bindHeader: String? = "Authorization", excluding: (@Sendable (URL) -> Bool)? = nil
    ) throws -> TokenAuthorizer {
        try TokenAuthorizer(
            service: world.service, tokenHeader: TokenHeader(), bindHeader: bindHeader, unboundRequests: .refused, excluding: excluding,
            sendsWithoutTokenWhenAuthorityIsDown: false)
    }

    private func authorize(
        _ fields: inout HTTPFields, by authorizer: TokenAuthorizer, timeout: Duration? = nil, hasLostBinding: Bool = false
    ) async throws -> Bool {
        let host = try CanonicalHost("api.test")
        let rule = try #require(authorizer.rule(for: host))
        return try await authorizer.authorize(
            &fields, of: request, to: host, rule: rule, timeout: { timeout }, hasLostBinding: hasLostBinding)
    }

    @Test("The token is bound to the header fields that are sent, not to those of the caller's request")
    func binding() async throws {
        let authorizer = try authorizer(World())
        var fields: HTTPFields = [.authorization: "Bearer of an interceptor"]
        #expect(try await authorize(&fields, by: authorizer))
        let token = try #require(fields[.approovToken])
        #expect(try pay(ofToken: token) == Binding.payHash(of: "Bearer of an interceptor"))
        #expect(fields[.approovTraceID]?.hasPrefix("trace-") == true)
    }

    @Test("Requests with the same binding share a token, and concurrent requests with different bindings each get their own")
    func sharing() async throws {
        let world = try World()
        let authorizer = try authorizer(world)
        @Sendable func token(_ value: String) async throws -> String {
            var fields: HTTPFields = [.authorization: value]
            _ = try await authorize(&fields, by: authorizer)
            return try #require(fields[.approovToken])
        }
        async let tokens = [token("a"), token("b")]
        let (a, b) = (try await tokens[0], try await tokens[1])
        #expect(try pay(ofToken: a) == Binding.payHash(of: "a"))
        #expect(try pay(ofToken: b) == Binding.payHash(of: "b"))
        #expect(try await token("a") == a)
        #expect(world.authority.seen.value.attestations.count == 2)
    }

    @Test("For a host without tokens and for an excluded URL, the fields stay unchanged and the authority is not asked")
    func noToken() async throws {
        let world = try World(hosts: ["api.test": HostSettings.pinned.with { $0.attested = false }])
        for (authorizer, label) in [
            (try authorizer(world), "not attested"), (try authorizer(World(), excluding: { $0.path() == "/shapes" }), "excluded"),
        ] {
            var fields: HTTPFields = [.approovToken: "the caller's"]
            #expect(try await !authorize(&fields, by: authorizer), "\(label)")
            #expect(fields == [.approovToken: "the caller's"], "\(label)")
        }
        #expect(world.transport.requests.isEmpty)
    }

    @Test("The authorizer replaces values that the caller set for the token and trace ID headers")
    func replaced() async throws {
        let authorizer = try authorizer(World(), bindHeader: nil)
        var fields: HTTPFields = [.approovTraceID: "forged"]
        fields.append(HTTPField(name: .approovToken, value: "forged"))
        fields.append(HTTPField(name: .approovToken, value: "forged, too"))
        #expect(try await authorize(&fields, by: authorizer))
        #expect(fields[values: .approovToken].count == 1 && fields.count == 2)
        #expect(!fields.contains { $0.value.contains("forged") })
    }

    @Test("A request to an oblivious host gets no trace ID, because the authority could link it to the app's address")
    func oblivious() async throws {
        let world = try World(hosts: ["api.test": HostSettings.pinned.with { $0.oblivious = true }])
        var fields: HTTPFields = [:]
        #expect(try await authorize(&fields, by: authorizer(world, bindHeader: nil)))
        #expect(fields[.approovToken] != nil)
        #expect(fields[.approovTraceID] == nil)
    }

    @Test("A request waits for its token no longer than its timeout, and then fails with a retryable error")
    func timeout() async throws {
        let world = try World()
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        defer { end.finish() }
        world.authority.script.value.fault = { _ in
            for await _ in never {}
            return nil
        }
        let authorizer = try authorizer(world, bindHeader: nil)
        let waiting = Task {
            var fields: HTTPFields = [:]
            return try await authorize(&fields, by: authorizer, timeout: .seconds(2))
        }
        // One sleeper is the fetch's deadline, the other is the request's timeout.
        await world.clock.sleepers(atLeast: 2)
        world.clock.advance(by: .seconds(2))
        let error = await #expect(throws: ApproovError.self) { _ = try await waiting.value }
        #expect(error?.code == .networkingError && error?.isRetryable == true)
    }

    @Test("The error for a missing binding says whether a redirect removed the header", arguments: [false, true])
    func lostBinding(_ isLost: Bool) async throws {
        let world = try World()
        let authorizer = try authorizer(world)
        let error = await #expect(throws: ApproovError.self) {
            var fields: HTTPFields = [:]
            _ = try await authorize(&fields, by: authorizer, hasLostBinding: isLost)
        }
        #expect(error?.code == .bindingMissing)
        #expect(error?.message.contains("a redirect to another origin removed") == isLost)
        #expect(world.transport.requests.isEmpty)
    }
}
