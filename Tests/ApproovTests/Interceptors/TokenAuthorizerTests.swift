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
        _ world: World, bindHeader: String? = "Authorization", change: (inout ApproovSessionConfiguration) -> Void = { _ in }
    ) throws -> TokenAuthorizer {
        var configuration = ApproovSessionConfiguration()
        configuration.bindHeader = bindHeader
        change(&configuration)
        return try TokenAuthorizer(service: world.service, configuration)
    }

    /// The error of a request that must not be sent.
    private func failure(of fields: HTTPFields, by authorizer: TokenAuthorizer) async throws -> ApproovError {
        try await #require(throws: ApproovError.self) {
            var fields = fields
            _ = try await authorize(&fields, by: authorizer)
        }
    }

    private func authorize(
        _ fields: inout HTTPFields, by authorizer: TokenAuthorizer, timeout: Duration? = nil, hasLostBinding: Bool = false
    ) async throws -> TokenOutcome {
        let url = try TransportURL(of: request)
        let rule = try #require(authorizer.rule(for: url.host))
        return try await authorizer.authorize(
            &fields, of: request, to: url, rule: rule, timeout: { timeout }, hasLostBinding: hasLostBinding)
    }

    @Test("The token is bound to the header fields that are sent, not to those of the caller's request")
    func binding() async throws {
        let authorizer = try authorizer(World())
        var fields: HTTPFields = [.authorization: "Bearer of an interceptor"]
        let outcome = try await authorize(&fields, by: authorizer)
        let token = try #require(fields[.approovToken])
        #expect(outcome.attached?.text == token)
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
            (try authorizer(world), "not attested"),
            (try authorizer(World()) { $0.excluding = { $0.path() == "/shapes" } }, "excluded"),
        ] {
            var fields: HTTPFields = [.approovToken: "the caller's"]
            guard case .notAttested = try await authorize(&fields, by: authorizer) else {
                Issue.record("\(label)")
                continue
            }
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
        _ = try await authorize(&fields, by: authorizer)
        #expect(fields[values: .approovToken].count == 1 && fields.count == 2)
        #expect(!fields.contains { $0.value.contains("forged") })
    }

    @Test("A request to an oblivious host gets no trace ID, because the authority could link it to the app's address")
    func oblivious() async throws {
        let world = try World(hosts: ["api.test": HostSettings.pinned.with { $0.oblivious = true }])
        var fields: HTTPFields = [:]
        _ = try await authorize(&fields, by: authorizer(world, bindHeader: nil))
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

    private func field(_ name: String, _ value: String) throws -> HTTPField {
        HTTPField(name: try #require(HTTPField.Name(name)), value: value)
    }

    @Test("Several binding headers are bound as their trimmed values in the configured order, as the token check reads them")
    func severalHeaders() async throws {
        let authorizer = try authorizer(World()) { $0.bindHeaders = ["Authorization", "X-Device"] }
        for order in [[0, 1], [1, 0]] {
            let lines = [try field("Authorization", "Bearer myauth_token"), try field("x-device", " my-device-id\t")]
            var fields = HTTPFields(order.map { lines[$0] })
            _ = try await authorize(&fields, by: authorizer)
            // The known sample of the original: SHA256("Bearer myauth_token" + "my-device-id").
            #expect(try pay(ofToken: try #require(fields[.approovToken])) == "71tnS3rSq2lanEWrKz4MoexiOMtv7w0fspfM8BAQKNU=")
        }
    }

    @Test("Every binding header must be there once and not be empty, and the error names it and shows no value")
    func severalHeadersAreRequired() async throws {
        let world = try World()
        let authorizer = try authorizer(world) { $0.bindHeaders = ["Authorization", "X-Device"] }
        let authorization = try field("Authorization", "Bearer secret")
        for (lines, code) in [
            ([], ApproovError.Code.bindingMissing), ([try field("X-Device", " ")], .bindingMissing),
            ([try field("X-Device", "secret-a"), try field("x-device", "secret-b")], .bindingAmbiguous),
        ] {
            let error = try await failure(of: HTTPFields([authorization] + lines), by: authorizer)
            #expect(error.code == code)
            #expect(error.message.contains("X-Device") && !"\(error)".contains("secret"))
        }
        #expect(world.transport.requests.isEmpty)
        var fields = HTTPFields([authorization])
        let lax = try self.authorizer(world) {
            $0.bindHeaders = ["Authorization", "X-Device"]
            $0.unboundRequests = .allowed
        }
        _ = try await authorize(&fields, by: lax)
        #expect(try pay(ofToken: try #require(fields[.approovToken])) == nil)
    }

    @Test("A binding header that occurs twice, or that carries the token, is refused when the authorizer is made")
    func badBindingHeaders() throws {
        for names in [["A", "a"], ["Authorization", "approov-token"], ["Authorization", "Approov-TraceID"], ["Authorization", ""]] {
            #expect(throws: ApproovError(.initializationError, "")) { try authorizer(World()) { $0.bindHeaders = names } }
        }
        #expect(throws: ApproovError(.initializationError, "")) { try authorizer(World()) { $0.binding = { _ in "data" } } }
    }

    @Test("`bindHeader` is the only element of bindHeaders")
    func oneBindingHeader() {
        var configuration = ApproovSessionConfiguration()
        configuration.bindHeader = "A"
        #expect(configuration.bindHeaders == ["A"])
        configuration.bindHeaders = ["A", "B"]
        #expect(configuration.bindHeader == nil)
        configuration.bindHeader = nil
        #expect(configuration.bindHeaders.isEmpty)
    }

    @Test("A token is bound to the data that the caller computes from the request as it is sent")
    func computedBinding() async throws {
        let seen = Shared<URLRequest?>(nil)
        let authorizer = try authorizer(World(), bindHeader: nil) {
            $0.binding = { request in
                seen.value = request
                return " user-7 "
            }
        }
        var fields: HTTPFields = [.authorization: "Bearer of an interceptor", .approovToken: "forged"]
        _ = try await authorize(&fields, by: authorizer)
        #expect(try pay(ofToken: try #require(fields[.approovToken])) == Binding.payHash(of: "user-7"))
        #expect(seen.value?.allHTTPHeaderFields == ["Authorization": "Bearer of an interceptor"])
        #expect(seen.value?.url == request.url)
    }

    @Test("Data that is missing prevents the request unless it is exempt, and so does an error of the closure")
    func missingData() async throws {
        struct Refused: Error {}
        let world = try World()
        for value in [nil, "", " \t"] {
            #expect(
                try await failure(of: [:], by: authorizer(world, bindHeader: nil) { $0.binding = { _ in value } }).code == .bindingMissing)
        }
        let throwing = try authorizer(world, bindHeader: nil) { $0.binding = { _ in throw Refused() } }
        let error = try await failure(of: [:], by: throwing)
        #expect(error.code == .interceptorError && error.cause is Refused)
        #expect(world.transport.requests.isEmpty)
        var fields: HTTPFields = [:]
        let lax = try authorizer(world, bindHeader: nil) {
            $0.binding = { _ in nil }
            $0.unboundRequests = .allowed
        }
        _ = try await authorize(&fields, by: lax)
        #expect(try pay(ofToken: try #require(fields[.approovToken])) == nil)
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
