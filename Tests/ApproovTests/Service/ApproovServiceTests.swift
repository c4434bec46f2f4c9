import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct ApproovServiceTests {
    let url = URL(string: "https://api.test/shapes") ?? URL(filePath: "/")

    @Test("The first fetch attests once, and the next one gets the token from the cache")
    func caching() async throws {
        let world = try World()
        let first = await world.service.fetchToken(for: url, binding: "Bearer abc")
        #expect(first.status == .success)
        #expect(first.arc == "IXPSB7TRK26LXE3M")
        #expect(first.traceID.hasPrefix("trace-"))
        #expect(try pay(ofToken: first.token) == Binding.payHash(of: "Bearer abc"))
        let second = await world.service.fetchToken(for: url, binding: " Bearer abc\t")
        #expect(second.token == first.token)
        #expect(world.authority.seen.value.attestations.count == 1)
    }

    @Test("Evidence names account, audience, host, pay hash and configuration version, but never the bound value")
    func evidence() async throws {
        let world = try World()
        _ = await world.service.fetchToken(for: url, binding: "Bearer secret-value")
        let request = try #require(world.attester.requests.first)
        #expect(request.account == "test-account")
        #expect(request.audience == TestAccount.authority)
        #expect(request.host == "api.test")
        #expect(request.payHash == Binding.payHash(of: "Bearer secret-value"))
        #expect(request.configVersion == 1)
        #expect(!"\(request)".contains("secret-value"))
    }

    @Test("The service forgets tokens by binding, by host, or all of them")
    func forget() async throws {
        let world = try World(hosts: ["api.test": .pinned, "b.test": .pinned])
        let other = try #require(URL(string: "https://b.test/"))
        func fill() async {
            for url in [url, other] {
                for binding in ["alice", "bob", nil] { _ = await world.service.fetchToken(for: url, binding: binding) }
            }
            #expect(world.service.cachedTokenCount == 6)
        }
        await fill()
        #expect(world.service.forgetTokens(boundTo: " alice", host: "API.test.") == 1)
        #expect(world.service.cachedTokenCount == 5)
        await fill()
        #expect(world.service.forgetTokens(boundTo: "alice") == 2)
        await fill()
        #expect(world.service.forgetTokens(host: "b.test") == 3)
        await fill()
        #expect(world.service.forgetTokens() == 6)
        #expect(world.service.cachedTokenCount == 0)
        await fill()
        for (binding, host) in [("carol", nil), (nil, "c.test"), (nil, "*.test"), (nil, ""), ("alice", "not a host")]
            as [(String?, String?)]
        {
            #expect(world.service.forgetTokens(boundTo: binding, host: host) == 0)
        }
        #expect(world.service.cachedTokenCount == 6)
    }

    @Test("A token that is fetched while tokens are forgotten answers its caller and is not kept")
    func forgetInFlight() async throws {
        let world = try World()
        let gate = Gate()
        world.authority.script.value.fault = { request in
            if request.url.target == "/v1/attestations" { try await gate.wait() }
            return nil
        }
        async let early = world.service.fetchToken(for: url, binding: "alice")
        #expect(await eventually { gate.waiterCount == 1 })
        world.service.forgetTokens(boundTo: "alice")
        async let late = world.service.fetchToken(for: url, binding: "alice")
        #expect(await eventually { gate.waiterCount == 2 })
        gate.open()
        let (first, second) = await (early, late)
        #expect(first.status == .success && second.status == .success && first.token != second.token)
        #expect(await world.service.fetchToken(for: url, binding: "alice").token == second.token)
        #expect(world.authority.seen.value.attestations.count == 2)
    }

    @Test("A thousand concurrent first requests cause one attestation")
    func singleFlight() async throws {
        let world = try World()
        let tokens = await withTaskGroup(of: String.self) { group in
            for _ in 0..<1_000 { group.addTask { await world.service.fetchToken(for: url, binding: "same").token } }
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
        #expect(world.authority.seen.value.attestations.count == 1)
        #expect(world.authority.seen.value.challenges == 1)
    }

    @Test("Two concurrent fetches with different bindings get two tokens, each with its own `pay`")
    func twoBindings() async throws {
        let world = try World()
        for round in 0..<50 {
            async let first = world.service.fetchToken(for: url, binding: "one-\(round)")
            async let second = world.service.fetchToken(for: url, binding: "two-\(round)")
            #expect(try pay(ofToken: await first.token) == Binding.payHash(of: "one-\(round)"))
            #expect(try pay(ofToken: await second.token) == Binding.payHash(of: "two-\(round)"))
        }
    }

    @Test("Each result brings the challenge for the next fetch, and each challenge is used once")
    func nextChallenge() async throws {
        let world = try World()
        for number in 0..<5 { _ = await world.service.fetchToken(for: url, binding: "\(number)") }
        #expect(world.authority.seen.value.challenges == 1)
        let challenges = world.authority.seen.value.attestations.map(\.challenge)
        #expect(Set(challenges).count == 5)
    }

    @Test(
        "A fetch replaces a challenge that the authority refuses, but gives up after a few refusals",
        arguments: [Problem.Name.challengeUsed, .challengeExpired, .challengeUnknown])
    func staleChallenge(_ name: Problem.Name) async throws {
        let world = try World()
        _ = await world.service.fetchToken(for: url, binding: "first")
        let refusals = Shared(1)
        world.authority.script.value.fault = { request in
            guard request.url.target == "/v1/attestations",
                refusals.change({
                    $0 -= 1; return $0 >= 0
                })
            else { return nil }
            return .problem(name, 409, to: request)
        }
        #expect(await world.service.fetchToken(for: url, binding: "second").status == .success)
        #expect(world.authority.seen.value.challenges == 2)

        // A request that stays refused is not repeated without limit.
        refusals.value = .max
        let result = await world.service.fetchToken(for: url, binding: "third")
        #expect(result.status == .internalError)
        #expect(world.attester.requests.filter { $0.payHash == Binding.payHash(of: "third") }.count <= 3)
    }

    @Test(
        "A fetch for a URL that gets no token returns the status that says why, and sends nothing",
        arguments: [
            ("https://elsewhere.test/", TokenFetchStatus.unknownURL), ("https://open.test/", .unprotectedURL),
            ("http://api.test/", .badURL), ("https://user@api.test/", .badURL), ("https://%61pi.test/", .badURL), ("file:///etc", .badURL),
            ("https://2130706433/", .badURL),
        ])
    func noToken(_ text: String, _ status: TokenFetchStatus) async throws {
        let world = try World(hosts: ["api.test": .pinned, "open.test": .pinned.with { $0.attested = false }])
        let result = await world.service.fetchToken(for: try #require(URL(string: text)), binding: nil)
        #expect(result.status == status)
        #expect(result.token.isEmpty)
        #expect(result.error != nil)
        #expect(world.transport.requests.isEmpty)
    }

    @Test("All spellings of a host share one token", arguments: ["https://API.test/", "https://api.test./", "https://api.test:443/x"])
    func spelling(_ text: String) async throws {
        let world = try World()
        let odd = await world.service.fetchToken(for: try #require(URL(string: text)), binding: nil)
        let plain = await world.service.fetchToken(for: url, binding: nil)
        #expect(odd.status == .success)
        #expect(odd.token == plain.token)
    }

    @Test(
        "Each host that an entry covers gets its own token, requested under the host's name, not the entry's",
        arguments: [
            ("example.test", true, ["example.test", "a.example.test", "x.a.example.test"]),
            ("*.example.test", false, ["a.example.test", "b.example.test"]),
            ("**.example.test", false, ["a.example.test", "x.a.example.test"]),
        ])
    func manyHosts(_ entry: String, _ includeSubdomains: Bool, _ hosts: [String]) async throws {
        let world = try World(hosts: [entry: .pinned.with { $0.includeSubdomains = includeSubdomains }])
        var tokens: Set<String> = []
        for host in hosts {
            let result = await world.service.fetchToken(for: try #require(URL(string: "https://\(host)/")), binding: "x")
            #expect(result.status == .success)
            #expect(tokens.insert(result.token).inserted)
            // Another spelling is still the same host.
            let again = await world.service.fetchToken(for: try #require(URL(string: "https://\(host.uppercased())./")), binding: "x")
            #expect(again.token == result.token)
        }
        #expect(world.attester.requests.map(\.host) == hosts)
        #expect(world.authority.seen.value.attestations.map(\.host) == hosts)
    }

    @Test("A prefetch for all hosts fetches tokens for named hosts, but not for patterns")
    func prefetchAll() async throws {
        let world = try World(hosts: [
            "*.a.test": .pinned, "**.b.test": .pinned, "c.test": .pinned.with { $0.includeSubdomains = true }, "d.test": .pinned,
            "e.test": .pinned.with { $0.attested = false },
        ])
        world.service.prefetchAll(binding: "x")
        #expect(await eventually { !world.service.isFetching })
        #expect(world.attester.requests.map(\.host).sorted() == ["c.test", "d.test"])
        #expect(world.service.cachedTokenCount == 2)
    }

    @Test("A rejection comes with its ARC and the reasons that the account discloses")
    func rejection() async throws {
        let world = try World()
        world.authority.script.value.rejectionReasons = ["app-not-registered"]
        let result = await world.service.fetchToken(for: url)
        #expect(result.status == .rejected)
        #expect(result.rejectionReasons == ["app-not-registered"])
        #expect(result.arc == "IXPSB7TRK26LXE3M")
    }

    @Test("An attester that throws causes an internal error, and no attestation is sent")
    func brokenAttester() async throws {
        let world = try World(attester: ScriptedAttester { _ in throw CocoaError(.fileNoSuchFile) })
        let result = await world.service.fetchToken(for: url)
        #expect(result.status == .internalError)
        #expect(result.error?.isRetryable == false)
        #expect(world.authority.seen.value.attestations.isEmpty)
    }

    @Test("The service's device ID is the attester's device ID")
    func deviceID() throws {
        let world = try World()
        #expect(world.service.deviceID == world.attester.deviceID)
    }

    @Test("The loggable form of a token shows the start of its signature and its audience, but not the full signature")
    func loggableToken() async throws {
        let world = try World()
        let result = await world.service.fetchToken(for: url, binding: "x")
        #expect(result.loggableToken.contains("\"sip\":\"\(Base64URL.encode(Array("signature".utf8)).prefix(6))\""))
        #expect(result.loggableToken.contains("\"aud\":\"api.test\""))
        #expect(!result.loggableToken.contains(Base64URL.encode(Array("signature".utf8))))
        let none = await world.service.fetchToken(for: URL(filePath: "/"))
        #expect(none.loggableToken == "{\"status\":\"badURL\"}")
    }

    @Test("`TokenFetchStatus` lists its cases in the order of the original SDK")
    func statuses() {
        #expect(
            TokenFetchStatus.allCases.map(\.rawValue) == [
                "success", "noNetwork", "mitmDetected", "poorNetwork", "noApproovService", "badURL", "unknownURL", "unprotectedURL",
                "notInitialized", "rejected", "disabled", "unknownKey", "badKey", "badPayload", "internalError",
            ])
    }

    @Test("A change of the system date does not change a token's lifetime", arguments: [-3_600.0, 3_600, -31_536_000, 31_536_000])
    func calendarJumps(_ jump: Double) async throws {
        let world = try World()
        let token = await world.service.fetchToken(for: url).token
        #expect(!token.isEmpty)
        // From here on every fetch fails, so only the first token can be returned.
        world.authority.script.value.fault = { TransportResponse(status: 500, url: $0.url) }
        // The task that will refresh the token is asleep.
        await world.clock.sleepers(atLeast: 1)
        world.clock.setDate(world.clock.date + jump)
        let asked = world.transport.requests.count
        world.clock.advance(by: .seconds(134))
        #expect(await world.service.fetchToken(for: url).token == token)
        #expect(world.transport.requests.count == asked)
        // At half its lifetime the cache tries to refresh it.
        world.clock.advance(by: .seconds(17))
        #expect(await eventually { world.transport.requests.count > asked && !world.service.isFetching })
        world.clock.setDate(world.clock.date - 2 * jump)
        world.clock.advance(by: .seconds(143))
        #expect(await world.service.fetchToken(for: url).token == token)
        world.clock.advance(by: .seconds(1))
        #expect(await world.service.fetchToken(for: url).status == .noApproovService)
    }

    @Test("Over three token lifetimes of steady load, no request after the first waits for the authority")
    func steadyLoad() async throws {
        let world = try World()
        _ = await world.service.fetchToken(for: url)
        let key = TokenKey(host: "api.test", payHash: nil, isOblivious: false)
        for _ in 1...900 {
            world.clock.advance(by: .seconds(1))
            #expect(world.service.cachedToken(for: key) != nil)
            #expect(await eventually { !world.service.isFetching })
        }
        #expect((6...8).contains(world.authority.seen.value.attestations.count))
    }

    @Test("Requests without tokens refresh the configuration in the background, at most once in five minutes")
    func freshness() async throws {
        let world = try World()
        let session = try world.session()
        func asked() async throws -> Int {
            for _ in 0..<3 { _ = try await session.data(for: URLRequest("https://else.test/")) }
            // A request that asks starts to do so before it returns.
            #expect(await eventually { !world.service.isRefreshing })
            return world.authority.seen.value.configurationRequests
        }
        #expect(try await asked() == 1)
        world.clock.advance(by: .seconds(299))
        #expect(try await asked() == 1)
        world.clock.advance(by: .seconds(2))
        #expect(try await asked() == 2)
    }

    @Test("After an attestation, a request without a token does not ask for the configuration")
    func freshnessByAttestation() async throws {
        let world = try World()
        let session = try world.session()
        _ = try await session.data(for: URLRequest("https://api.test/"))
        _ = try await session.data(for: URLRequest("https://else.test/"))
        #expect(!world.service.isRefreshing)
        #expect(world.authority.seen.value.configurationRequests == 0)
    }

    @Test("A host that a newer configuration adds is protected without a restart")
    func addedHost() async throws {
        let world = try World(hosts: [:])
        let session = try world.session()
        let next = world.account.configuration(version: 2, hosts: ["later.test": .pinned])
        world.authority.script.value.configurations = [try world.account.signed(next)]
        // The authority answers only after the first request has reached the API.
        let (sent, send) = AsyncStream.makeStream(of: Void.self)
        let respond = world.api.value
        world.api.value = { request in
            send.finish()
            return try await respond(request)
        }
        world.authority.script.value.fault = { _ in
            for await _ in sent {}
            return nil
        }
        _ = try await session.data(for: URLRequest("https://later.test/"))
        var events = world.service.configurationEvents().makeAsyncIterator()
        _ = await events.next()
        _ = try await session.data(for: URLRequest("https://later.test/"))
        #expect(world.apiRequests.map { $0.headerFields[.approovToken] != nil } == [false, true])
    }

    @Test("The fetch that brought a new configuration reports it once, and so do the events")
    func configurationChanged() async throws {
        let world = try World()
        #expect(await !world.service.fetchToken(for: url, binding: "a").isConfigChanged)
        world.authority.script.value.configurations = [try world.account.signed(world.account.configuration(version: 2))]
        let changed = await world.service.fetchToken(for: url, binding: "b")
        #expect(changed.isConfigChanged && changed.status == .success)
        let again = await world.service.fetchToken(for: url, binding: "b")
        #expect(!again.isConfigChanged && again.token == changed.token)
        #expect(await !world.service.fetchToken(for: url, binding: "c").isConfigChanged)
        var events = world.service.configurationEvents().makeAsyncIterator()
        #expect(await events.next()?.accepted == 2)
        world.authority.script.value.configurations = [try world.account.signed(world.account.configuration(version: 3))]
        #expect(try await world.service.refreshConfiguration())
        #expect(await events.next()?.accepted == 3)
    }

    @Test(
        "An answer of the authority that is older than a configuration which came into force meanwhile is not reported",
        arguments: ["/v1/configuration", "/v1/attestations"])
    func lateAnswer(path: String) async throws {
        let log = LogRecord()
        let world = try World(logger: log.logger)
        let three = try world.account.signed(world.account.configuration(version: 3))
        world.authority.script.value.configurations = [try world.account.signed(world.account.configuration(version: 2))]
        world.authority.script.value.fault = { [unowned world] request in
            if request.url.target.hasPrefix(path) { _ = await world.service.keeper.offer([three]) }
            return nil
        }
        if path == "/v1/configuration" {
            #expect(try await world.service.refreshConfiguration() == false)
        } else {
            #expect(await world.service.fetchToken(for: url).status == .success)
        }
        #expect(world.service.configuration.version == 3)
        #expect(!log.lines.contains { $0.contains("does not follow this app's") })
    }

    @Test("The descriptions and the dump of a result do not contain its token")
    func printing() async throws {
        let result = try await World().service.fetchToken(for: url)
        for text in ["\(result)", String(reflecting: result)] { #expect(!text.contains(result.token)) }
        var dumped = ""
        dump(result, to: &dumped)
        #expect(!dumped.contains(result.token))
    }
}
