import Approov
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import Testing

@Suite struct ApproovInterceptorTests {
    private func header(_ request: URLRequest, _ name: String = "Approov-Token") -> String? { request.value(forHTTPHeaderField: name) }

    @Test("a protected request gets token and trace ID, bound to the request's own header")
    func adapts() async throws {
        let world = try World()
        let interceptor = try ApproovInterceptor(service: world.service, bindHeader: "authorization")
        let request = URLRequest("https://api.test/", ["Authorization": "  Bearer abc "])
        let adapted = try await interceptor.adapt(request)
        let token = try #require(header(adapted))
        #expect(try pay(ofToken: token) == Binding.payHash(of: "Bearer abc"))
        #expect(header(adapted, "Approov-TraceID")?.hasPrefix("trace-") == true)
    }

    @Test("names and prefix are the caller's; without a trace ID's name none is sent")
    func names() async throws {
        let world = try World()
        let interceptor = try ApproovInterceptor(
            service: world.service, tokenHeader: TokenHeader(name: "Authorization", prefix: "Bearer ", traceIDName: nil))
        let adapted = try await interceptor.adapt(URLRequest("https://api.test/"))
        #expect(header(adapted, "Authorization")?.hasPrefix("Bearer ey") == true)
        #expect(adapted.allHTTPHeaderFields?.count == 1)
    }

    @Test("what the caller put under the token's name, in any spelling, is replaced by one line")
    func replaces() async throws {
        let world = try World()
        let interceptor = try ApproovInterceptor(service: world.service)
        let request = URLRequest("https://api.test/", ["approov-token": "forged", "APPROOV-TOKEN": "forged too", "Approov-Traceid": "x"])
        let adapted = try await interceptor.adapt(request)
        let lines = (adapted.allHTTPHeaderFields ?? [:]).filter { $0.key.lowercased() == "approov-token" }
        #expect(lines.count == 1)
        #expect(lines.values.first?.hasPrefix("ey") == true)
    }

    @Test("hosts that get no token, and excluded URLs, are left as they are")
    func untouched() async throws {
        let world = try World(hosts: ["api.test": .pinned, "open.test": .pinned.with { $0.attested = false }])
        let interceptor = try ApproovInterceptor(
            service: world.service, bindHeader: "Authorization", excluding: { $0.path().hasPrefix("/public") })
        for text in ["https://else.test/", "https://open.test/", "https://api.test/public/x", "http://else.test/"] {
            let request = URLRequest(text, ["X": "y"])
            #expect(try await interceptor.adapt(request) == request)
        }
        #expect(world.transport.requests.isEmpty)
    }

    @Test("plain http to a protected host is refused before anything is sent")
    func cleartext() async throws {
        let world = try World()
        let interceptor = try ApproovInterceptor(service: world.service)
        await #expect(throws: ApproovError(.pinningError, "")) { try await interceptor.adapt(URLRequest("http://api.test/")) }
        #expect(world.transport.requests.isEmpty)
    }

    @Test("a request without its binding header is refused, unless it is exempt")
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

    @Test("an empty binding header is as good as none, and the error says that it is empty", arguments: ["", " ", "\t  "])
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

    @Test("two lines of the binding header are an error that shows neither value")
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

    @Test("headers that cannot work together are refused when the interceptor is made")
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

    @Test("with the authority down a request fails with a retryable error, and goes without a token only where the caller said so")
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

    @Test("an authority that is another server never lets a request go without a token")
    func mitm() async throws {
        let world = try World()
        world.authority.script.value.fault = { _ in throw TransportError(.trustRefused, "refused") }
        let lax = try ApproovInterceptor(service: world.service, sendsWithoutTokenWhenAuthorityIsDown: true)
        await #expect(throws: ApproovError(.networkingError, "")) { try await lax.adapt(URLRequest("https://api.test/")) }
    }

    @Test("where waiting would not help no request goes without a token, whatever the caller said of an authority that is down")
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

    @Test("a rejection reaches the caller with ARC and reasons")
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
