import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Hummingbird
import HummingbirdTesting
import Testing

@testable import ApproovTokenCheck

@Suite struct TokenCheckMiddlewareConsumingTests {
    private typealias Check = TokenCheckMiddleware<BasicTokenCheckedRequestContext>

    private let routes = LimitedUseRoutes()

    private func serve(
        _ check: Check,
        _ body:
            @escaping @Sendable (@escaping @Sendable ([(String, String)]) async throws -> LimitedUseRoutes.Answer)
            async throws -> Void
    ) async throws {
        var check = check
        check.time = routes.clock
        try await routes.serve(behind: { [check] in $0.add(middleware: check) }, body)
    }

    @Test("A limited-use token passes once, and then no more, whatever the clock says")
    func once() async throws {
        let (token, other) = (try routes.token(), try routes.token(jti: "another"))
        let store = MemoryReplayStore(time: routes.clock)
        try await serve(Check(verifier: routes.verifier(), consuming: store)) { [routes] (send) async throws in
            #expect(try await send([("Approov-Token", token)]) == .init(status: 200, retryAfter: nil, challenge: nil, body: "first"))
            #expect(try await send([("Approov-Token", token)]) == .init(status: 401, retryAfter: nil, challenge: "Approov", body: ""))
            #expect(try await send([("Approov-Token", other)]).status == 200)
            routes.clock.advance(by: .seconds(59))
            #expect(try await send([("Approov-Token", token)]).status == 401)
        }
        #expect(routes.calls.value == 2)
    }

    @Test("Of two thousand concurrent requests with one token, one reaches the handler")
    func concurrent() async throws {
        let token = try routes.token()
        try await serve(Check(verifier: routes.verifier(), consuming: MemoryReplayStore(time: routes.clock))) { (send) async throws in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<2_000 { group.addTask { try await send([("Approov-Token", token)]).status } }
                return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(statuses == [200: 1, 401: 1_999])
        }
        #expect(routes.calls.value == 1)
    }

    @Test("Nothing is consumed for a request that another part of the check refuses")
    func otherRefusals() async throws {
        let store = StoreDouble { true }
        let verifier = try routes.verifier(issuer: "issuer")
        let pay = Binding.payHash(of: "Bearer alice")
        let good = try routes.token { ($0.iss, $0.pay) = ("issuer", pay) }
        let foreign = try TokenSigner(key: .hs256(.generate())).sign(TokenClaims(exp: routes.now + 60, jti: "x"))
        let bad = [
            try routes.token { ($0.iss, $0.pay) = ("another issuer", pay) }, try routes.token { $0.pay = pay },
            try routes.token { ($0.iss, $0.pay, $0.aud) = ("issuer", pay, "other.example.com") },
            try routes.token { ($0.iss, $0.pay, $0.exp) = ("issuer", pay, routes.now) },
            try routes.token { ($0.iss, $0.pay, $0.iat) = ("issuer", pay, routes.now + 31) },
            try routes.token { $0.iss = "issuer" }, try routes.token(jti: nil) { ($0.iss, $0.pay) = ("issuer", pay) },
            try routes.token(jti: "") { ($0.iss, $0.pay) = ("issuer", pay) },
            try routes.token(jti: String(repeating: "j", count: 257)) { ($0.iss, $0.pay) = ("issuer", pay) }, foreign, "x.y.z", "",
        ]
        try await serve(Check(verifier: verifier, bindingHeaders: ["Authorization"], consuming: store)) { (send) async throws in
            for token in bad {
                #expect(try await send([("Approov-Token", token), ("Authorization", "Bearer alice")]).status == 401)
            }
            #expect(try await send([("Approov-Token", good)]).status == 401)
            #expect(try await send([("Approov-Token", good), ("Authorization", "Bearer mallory")]).status == 401)
            #expect(try await send([("Approov-Token", good), ("Approov-Token", good), ("Authorization", "Bearer alice")]).status == 401)
            #expect(store.uses.value.isEmpty)
            #expect(try await send([("Approov-Token", good), ("Authorization", "Bearer alice")]).status == 200)
        }
        #expect(store.uses.value.map(\.issuer) == ["issuer"] && routes.calls.value == 1)
    }

    @Test("Two issuers may use one identifier, each for its own token")
    func issuers() async throws {
        let (one, two) = (try routes.token { $0.iss = "one" }, try routes.token { $0.iss = "two" })
        try await serve(Check(verifier: routes.verifier(), consuming: MemoryReplayStore(time: routes.clock))) { (send) async throws in
            for token in [one, two] { #expect(try await send([("Approov-Token", token)]).status == 200) }
            for token in [one, two] { #expect(try await send([("Approov-Token", token)]).status == 401) }
        }
    }

    @Test("A full store gives 503, and requests pass again when records have ended")
    func full() async throws {
        let (first, second) = (try routes.token(jti: "first"), try routes.token(jti: "second") { $0.exp += 600 })
        let store = MemoryReplayStore(capacity: 1, time: routes.clock)
        try await serve(Check(verifier: routes.verifier(), consuming: store)) { [routes] (send) async throws in
            #expect(try await send([("Approov-Token", first)]).status == 200)
            #expect(try await send([("Approov-Token", second)]) == .init(status: 503, retryAfter: "5", challenge: nil, body: ""))
            #expect(try await send([("Approov-Token", first)]).status == 401)
            routes.clock.advance(by: .seconds(120))
            #expect(try await send([("Approov-Token", second)]).status == 200)
        }
        #expect(routes.calls.value == 2)
    }

    @Test("A store that does not answer gives 503 when the timeout is over")
    func slow() async throws {
        let gate = Gate()
        let store = StoreDouble {
            try await gate.wait()
            return true
        }
        let token = try routes.token()
        try await serve(Check(verifier: routes.verifier(), consuming: store, storeTimeout: .seconds(3))) { [routes] (send) async throws in
            async let answer = send([("Approov-Token", token)])
            await routes.clock.sleepers(atLeast: 1)
            routes.clock.advance(by: .seconds(3))
            #expect(try await answer == .init(status: 503, retryAfter: "5", challenge: nil, body: ""))
        }
        #expect(routes.calls.value == 0)
    }

    @Test("With the soft policy a replay reaches the handler, which is told; a store that fails still gives 503")
    func soft() async throws {
        let isBroken = Shared(false)
        let memory = MemoryReplayStore(time: routes.clock)
        let end = routes.now + 60
        let store = StoreDouble {
            if isBroken.value { throw ReplayStoreError(.storeUnusable, "") }
            return try await memory.consume("jti", of: nil, until: end)
        }
        let (token, unlimited) = (try routes.token(), try routes.token(jti: nil))
        let check = try Check(
            verifierProvider: { [verifier = try routes.verifier()] in verifier }, consuming: store, replays: .dangerouslyPassedToHandler)
        try await serve(check) { (send) async throws in
            #expect(try await send([("Approov-Token", token)]).body == "first")
            #expect(try await send([("Approov-Token", token)]).body == "replay")
            #expect(try await send([("Approov-Token", unlimited)]).status == 401)
            isBroken.value = true
            #expect(try await send([("Approov-Token", token)]).status == 503)
        }
    }

    @Test("A token with a refused annotation is not consumed, whichever way the check gets its keys")
    func annotations() async throws {
        let store = StoreDouble { true }
        let (developer, genuine) = (try routes.token { $0.anno = ["dev-key"] }, try routes.token())
        let verifier = try routes.verifier()
        for check in [
            try Check(verifier: verifier, refusing: ["dev-key"], consuming: store),
            try Check(verifierProvider: { verifier }, refusing: ["dev-key"], consuming: store),
        ] {
            store.uses.value = []
            try await serve(check) { (send) async throws in
                #expect(try await send([("Approov-Token", developer)]).status == 401)
                #expect(store.uses.value.isEmpty)
                #expect(try await send([("Approov-Token", genuine)]).status == 200)
                #expect(store.uses.value.count == 1)
            }
        }
    }

    @Test("A check that consumes nothing takes a limited-use token as often as any other")
    func notConsuming() async throws {
        let token = try routes.token()
        try await serve(Check(verifier: routes.verifier())) { (send) async throws in
            for _ in 0..<2 { #expect(try await send([("Approov-Token", token)]).body == "first") }
        }
    }
}
