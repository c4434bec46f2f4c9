import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import Testing

@testable import Approov

@Suite struct ApproovInterceptorTests {
    private func header(_ request: URLRequest, _ name: String = "Approov-Token") -> String? { request.value(forHTTPHeaderField: name) }

    @Test("A protected request gets a trace ID and a token that is bound to the request's own header")
    func adapts() async throws {
        let world = try World()
        let interceptor = try ApproovInterceptor(service: world.service, bindHeader: "authorization")
        let request = URLRequest("https://api.test/", ["Authorization": "  Bearer abc "])
        let adapted = try await interceptor.adapt(request)
        let token = try #require(header(adapted))
        #expect(try pay(ofToken: token) == Binding.payHash(of: "Bearer abc"))
        #expect(header(adapted, "Approov-TraceID")?.hasPrefix("trace-") == true)
    }

    @Test("The caller chooses the header name and the prefix, and without a trace ID name no trace ID is sent")
    func names() async throws {
        let world = try World()
        let interceptor = try ApproovInterceptor(
            service: world.service, tokenHeader: TokenHeader(name: "Authorization", prefix: "Bearer ", traceIDName: nil))
        let adapted = try await interceptor.adapt(URLRequest("https://api.test/"))
        #expect(header(adapted, "Authorization")?.hasPrefix("Bearer ey") == true)
        #expect(adapted.allHTTPHeaderFields?.count == 1)
    }

    @Test("Settings that only a session can carry out are refused: signatures and substitutions")
    func sessionSettings() throws {
        let world = try World()
        let substitution = try Substitution(hosts: ["api.test"], headers: ["Api-Key": ""])
        for change in [
            { $0.signing = .installation() }, { $0.substitutions = [substitution] },
        ] as [(inout ApproovSessionConfiguration) -> Void] {
            var configuration = ApproovSessionConfiguration()
            change(&configuration)
            let error = #expect(throws: ApproovError.self) {
                try ApproovInterceptor(service: world.service, configuration: configuration)
            }
            #expect(error?.code == .initializationError && error?.message.contains("ApproovSession") == true)
        }
    }

    @Test("The interceptor replaces the caller's own token headers, in any spelling, by one header")
    func replaces() async throws {
        let world = try World()
        let interceptor = try ApproovInterceptor(service: world.service)
        let request = URLRequest("https://api.test/", ["approov-token": "forged", "APPROOV-TOKEN": "forged too", "Approov-Traceid": "x"])
        let adapted = try await interceptor.adapt(request)
        let lines = (adapted.allHTTPHeaderFields ?? [:]).filter { $0.key.lowercased() == "approov-token" }
        #expect(lines.count == 1)
        #expect(lines.values.first?.hasPrefix("ey") == true)
    }

    @Test("Requests to hosts without tokens and to excluded URLs stay unchanged, and the authority is asked for no token")
    func untouched() async throws {
        let world = try World(hosts: ["api.test": .pinned, "open.test": .pinned.with { $0.attested = false }])
        let interceptor = try ApproovInterceptor(
            service: world.service, bindHeader: "Authorization", excluding: { $0.path().hasPrefix("/public") })
        for text in ["https://else.test/", "https://open.test/", "https://api.test/public/x", "http://else.test/"] {
            let request = URLRequest(text, ["X": "y"])
            #expect(try await interceptor.adapt(request) == request)
        }
        #expect(world.authority.seen.value.challenges == 0 && world.authority.seen.value.attestations.isEmpty)
    }

    @Test("A host that a newer configuration adds gets tokens without a restart", arguments: [false, true])
    func addedHost(isKnown: Bool) async throws {
        let world = try World(hosts: isKnown ? ["later.test": .pinned.with { $0.attested = false }] : [:])
        let interceptor = try ApproovInterceptor(service: world.service)
        let next = world.account.configuration(version: 2, hosts: ["later.test": .pinned])
        world.authority.script.value.configurations = [try world.account.signed(next)]
        _ = try await interceptor.adapt(URLRequest("https://later.test/"))
        #expect(await eventually { !world.service.isRefreshing })
        #expect(header(try await interceptor.adapt(URLRequest("https://later.test/"))) != nil)
    }

    @Test("Plain HTTP to a protected host is refused before anything is sent")
    func cleartext() async throws {
        let world = try World()
        let interceptor = try ApproovInterceptor(service: world.service)
        await #expect(throws: ApproovError(.pinningError, "")) { try await interceptor.adapt(URLRequest("http://api.test/")) }
        #expect(world.transport.requests.isEmpty)
    }

    @Test("A request to an oblivious host is refused before the authority is asked, whether or not it would get a token")
    func oblivious() async throws {
        let oblivious = HostSettings.pinned.with { $0.oblivious = true }
        let world = try World(hosts: ["private.test": oblivious, "open.test": oblivious.with { $0.attested = false }])
        let interceptor = try ApproovInterceptor(service: world.service, excluding: { $0.path() == "/public" })
        for text in ["https://private.test/", "https://private.test/public", "https://open.test/"] {
            let error = await #expect(throws: ApproovError.self) { try await interceptor.adapt(URLRequest(text)) }
            #expect(error?.code == .configurationError && error?.message.contains("an ApproovSession") == true, "\(text)")
        }
        #expect(world.transport.requests.isEmpty)
    }

    @Test("A host that a newer configuration calls over Oblivious HTTP is refused, if the token brings that configuration")
    func becomesOblivious() async throws {
        let world = try World()
        let newer = world.account.configuration(
            version: 2, hosts: ["api.test": .pinned.with { $0.oblivious = true }], oblivious: world.gateway.settings)
        world.authority.script.value.configurations = [try world.account.signed(newer)]
        let interceptor = try ApproovInterceptor(service: world.service)
        await #expect(throws: ApproovError(.configurationError, "")) { try await interceptor.adapt(URLRequest("https://api.test/")) }
        #expect(world.authority.seen.value.attestations.count == 1)
    }

    @Test("A token that reaches its end while the policy decides is replaced")
    func expiresInDecision() async throws {
        struct Asking: AttestationPolicy {
            let clock: ManualClock
            let tokens = Shared<[String]>([])
            func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision {
                let count = tokens.change { tokens in
                    tokens.append(result.token)
                    return tokens.count
                }
                if count == 1 { clock.advance(by: .seconds(25)) }
                return .attach
            }
        }
        let world = try World()
        world.authority.script.value.lifetime = 20
        var configuration = ApproovSessionConfiguration()
        let policy = Asking(clock: world.clock)
        configuration.policy = policy
        let adapted = try await ApproovInterceptor(service: world.service, configuration: configuration)
            .adapt(URLRequest("https://api.test/"))
        #expect(policy.tokens.value.count == 2 && header(adapted) == policy.tokens.value.last)
        #expect(world.authority.seen.value.attestations.count == 2)
    }

    @Test("A request without its binding header is refused unless the caller allows it")
    func unbound() async throws {
        let world = try World()
        let login = URLRequest("https://api.test/login")
        let other = URLRequest("https://api.test/shapes")
        let strict = try ApproovInterceptor(service: world.service, bindHeader: "Authorization")
        await #expect(throws: ApproovError(.bindingMissing, "")) { try await strict.adapt(login) }
        let predicate = try ApproovInterceptor(
            service: world.service, bindHeader: "Authorization", unboundRequests: .allowedWhere { $0.url?.path() == "/login" })
        #expect(try pay(ofToken: try #require(header(try await predicate.adapt(login)))) == nil)
        await #expect(throws: ApproovError(.bindingMissing, "")) { try await predicate.adapt(other) }
        let lax = try ApproovInterceptor(service: world.service, bindHeader: "Authorization", unboundRequests: .allowed)
        #expect(header(try await lax.adapt(other)) != nil)
    }

    @Test("An empty binding header counts as missing, and the error says that it is empty", arguments: ["", " ", "\t  "])
    func emptyBinding(value: String) async throws {
        let world = try World()
        let request = URLRequest("https://api.test/", ["Authorization": value])
        let strict = try ApproovInterceptor(service: world.service, bindHeader: "Authorization")
        let error = await #expect(throws: ApproovError.self) { try await strict.adapt(request) }
        #expect(error?.code == .bindingMissing && error?.message.contains("is empty") == true)
        #expect(world.transport.requests.isEmpty)
        let lax = try ApproovInterceptor(service: world.service, bindHeader: "Authorization", unboundRequests: .allowed)
        #expect(try pay(ofToken: try #require(header(try await lax.adapt(request)))) == nil)
        let result = await world.service.fetchToken(for: try #require(request.url), binding: value)
        #expect(result.status == .badPayload && result.error?.code == .bindingMissing)
    }

    @Test("Two values for the binding header are an error that shows neither of them")
    func ambiguous() async throws {
        let world = try World()
        let interceptor = try ApproovInterceptor(service: world.service, bindHeader: "Authorization")
        let request = URLRequest("https://api.test/", ["Authorization": "Bearer secret-one", "authorization": "Bearer secret-two"])
        await #expect {
            try await interceptor.adapt(request)
        } throws: { error in
            (error as? ApproovError)?.code == .bindingAmbiguous && !"\(error)".contains("secret")
        }
    }

    @Test("Making an interceptor fails if its header names or its prefix are invalid, or if two names are the same")
    func badNames() throws {
        let world = try World()
        for (token, trace, binding) in [
            ("Authorization", "T", "authorization"), ("A", "a", nil), ("A", "B", "b"), ("", "B", nil), ("A b", "B", nil), ("A", "B", "ü"),
            (":path", "B", nil),
        ] as [(String, String, String?)] {
            #expect(throws: ApproovError(.initializationError, "")) {
                try ApproovInterceptor(
                    service: world.service, tokenHeader: TokenHeader(name: token, traceIDName: trace), bindHeader: binding)
            }
        }
        #expect(throws: ApproovError(.initializationError, "")) {
            try ApproovInterceptor(service: world.service, tokenHeader: TokenHeader(prefix: "Bearer\r\nX: "))
        }
    }

    @Test("If the authority is down, the request fails with a retryable error, or goes without a token if the caller allows it")
    func authorityDown() async throws {
        for error in [TransportError(.connectionFailed, "refused"), TransportError(.idleTimeout, "slow"), nil] {
            let world = try World()
            world.authority.script.value.fault = { request in
                if let error { throw error }
                return TransportResponse(status: 500, url: request.url)
            }
            let request = URLRequest("https://api.test/", ["Approov-Token": "forged"])
            let strict = try ApproovInterceptor(service: world.service)
            await #expect {
                try await strict.adapt(request)
            } throws: {
                ($0 as? ApproovError)?.isRetryable == true
            }
            let lax = try ApproovInterceptor(service: world.service, sendsWithoutTokenWhenAuthorityIsDown: true)
            #expect(header(try await lax.adapt(request)) == nil)
        }
    }

    @Test("A request never goes without a token if the authority's server is not trusted")
    func mitm() async throws {
        let world = try World()
        world.authority.script.value.fault = { _ in throw TransportError(.trustRefused, "refused") }
        let lax = try ApproovInterceptor(service: world.service, sendsWithoutTokenWhenAuthorityIsDown: true)
        await #expect(throws: ApproovError(.networkingError, "")) { try await lax.adapt(URLRequest("https://api.test/")) }
    }

    @Test("If waiting would not help, no request goes without a token, even if the caller allows that during an outage")
    func noToken() async throws {
        for isAllowed in [false, true] {
            for (code, world) in try World.withoutTokens() {
                let interceptor = try ApproovInterceptor(service: world.service, sendsWithoutTokenWhenAuthorityIsDown: isAllowed)
                let error = await #expect(throws: ApproovError.self) { try await interceptor.adapt(URLRequest("https://api.test/")) }
                #expect(error?.code == code)
                #expect(error?.isRetryable == false)
            }
        }
    }

    @Test("A rejection reaches the caller with its ARC and its reasons")
    func rejection() async throws {
        let world = try World()
        world.authority.script.value.rejectionReasons = ["debugger"]
        let interceptor = try ApproovInterceptor(service: world.service)
        await #expect {
            try await interceptor.adapt(URLRequest("https://api.test/"))
        } throws: { error in
            let error = error as? ApproovError
            return error?.code == .rejectionError && error?.arc == "IXPSB7TRK26LXE3M" && error?.rejectionReasons == ["debugger"]
        }
    }
}
