import Approov
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import Testing

/// What a service tells about its attestations beside the tokens.
@Suite struct PrecheckTests {
    private let url = URL(string: "https://api.test/shapes") ?? URL(filePath: "/")

    private struct Refused: Error {}

    /// Decides about prechecks alone.
    private struct Deciding: AttestationPolicy {
        let decision: @Sendable (TokenFetchResult, String) throws -> TokenDecision
        func decide(_ result: TokenFetchResult, forPrecheckOf host: String) async throws -> TokenDecision { try decision(result, host) }
    }

    // MARK: The last result

    @Test("There is no last result before the first attestation, and a fetch that does not attest leaves none")
    func noResult() async throws {
        let world = try World()
        #expect(world.service.lastResult == nil)
        _ = await world.service.fetchToken(for: try #require(URL(string: "https://else.test/")))
        #expect(world.service.lastResult == nil)
    }

    @Test("The last result tells ARC, host and time, and never the token")
    func lastResult() async throws {
        let world = try World(hosts: ["api.test": .pinned, "b.test": .pinned])
        let first = await world.service.fetchToken(for: url, binding: "Bearer abc")
        let last = try #require(world.service.lastResult)
        #expect(last.status == .success && last.arc == "IXPSB7TRK26LXE3M" && last.traceID == first.traceID)
        #expect(last.host == "api.test" && last.date == world.clock.date)
        #expect(last.token.isEmpty && !"\(last)".contains(first.token))
        #expect(first.host == "api.test" && first.date == world.clock.date)

        let start = world.clock.date
        world.clock.advance(by: .seconds(10))
        _ = await world.service.fetchToken(for: url, binding: "Bearer abc")
        #expect(world.service.lastResult?.date == start)
        _ = await world.service.fetchToken(for: try #require(URL(string: "https://b.test/")))
        #expect(world.service.lastResult?.host == "b.test" && world.service.lastResult?.date == world.clock.date)
    }

    @Test("A failed attestation is also a last result")
    func lastFailure() async throws {
        let world = try World()
        world.authority.script.value.fault = { _ in throw TransportError(.connectionFailed, "no") }
        _ = await world.service.fetchToken(for: url)
        let last = try #require(world.service.lastResult)
        #expect(last.status == .noNetwork && last.error?.code == .networkingError)
        #expect(last.host == "api.test" && last.date == world.clock.date)
    }

    // MARK: Precheck

    @Test("A precheck attests with a new challenge, and keeps no token")
    func passes() async throws {
        let world = try World()
        _ = await world.service.fetchToken(for: url)
        #expect(world.authority.seen.value.challenges == 1)
        try await world.service.precheck()
        let seen = world.authority.seen.value
        #expect(seen.challenges == 2 && seen.attestations.count == 2)
        #expect(seen.attestations.last?.payHash == nil && seen.attestations.last?.host == "api.test")
        #expect(world.service.cachedTokenCount == 1)
        #expect(world.service.lastResult?.status == .success)
    }

    @Test("The precheck attests for the first host that gets tokens, and for an oblivious host only if there is no other")
    func host() async throws {
        for (hosts, host) in [
            (["b.test": .pinned, "a.test": .pinned.with { $0.attested = false }, "*.c.test": .pinned], "b.test"),
            (["a.test": .pinned.with { $0.oblivious = true }, "b.test": .pinned], "b.test"),
            (["a.test": .pinned.with { $0.oblivious = true }], "a.test"),
        ] as [([String: HostSettings], String)] {
            let world = try World(hosts: hosts)
            try await world.service.precheck()
            #expect(world.authority.seen.value.attestations.map(\.host) == [host])
        }
        for hosts in [[:], ["a.test": .pinned.with { $0.attested = false }], ["*.c.test": .pinned]] as [[String: HostSettings]] {
            let world = try World(hosts: hosts)
            let error = try await #require(throws: ApproovError.self) { try await world.service.precheck() }
            #expect(error.code == .permanentError && error.message.contains("approov api -add"))
            #expect(world.transport.requests.isEmpty)
        }
    }

    @Test("An app that gets no secure strings is not genuine, and its precheck fails with the ARC")
    func rejected() async throws {
        let world = try World()
        world.authority.script.value.secureStrings = nil
        let error = try await #require(throws: ApproovError.self) { try await world.service.precheck() }
        #expect(error.code == .rejectionError && error.arc == "IXPSB7TRK26LXE3M" && error.message.contains("approov token -arc"))
        #expect(world.service.lastResult?.status == .rejected)
        // A fetch of a token tells nothing of it.
        #expect(await world.service.fetchToken(for: url).status == .success)
        // A genuine app of an oblivious host gets an empty list of strings.
        let oblivious = try World(hosts: ["a.test": .pinned.with { $0.oblivious = true }])
        try await oblivious.service.precheck()
        oblivious.authority.script.value.secureStrings = nil
        await #expect(throws: ApproovError(.rejectionError, "")) { try await oblivious.service.precheck() }
    }

    @Test("A precheck fails with the error of its attestation")
    func fails() async throws {
        for (code, world) in try World.withoutTokens() {
            await #expect(throws: ApproovError(code, "")) { try await world.service.precheck() }
        }
        for code in [TransportError.Code.connectionFailed, .trustRefused, .idleTimeout] {
            let world = try World()
            world.authority.script.value.fault = { _ in throw TransportError(code, "no") }
            let error = try await #require(throws: ApproovError.self) { try await world.service.precheck() }
            #expect(error.code == .networkingError && error.isRetryable)
        }
    }

    @Test("A policy decides about the result of a precheck, but the precheck fails whenever the authority's server is not trusted")
    func policy() async throws {
        let world = try World()
        let seen = Shared<[String]>([])
        let refusing = Deciding { result, host in
            seen.change { $0.append("\(result.status) \(host)") }
            return .fail
        }
        await #expect(throws: ApproovError(.permanentError, "")) { try await world.service.precheck(policy: refusing) }
        #expect(seen.value == ["success api.test"])
        let error = try await #require(throws: ApproovError.self) {
            try await world.service.precheck(policy: Deciding { _, _ in throw Refused() })
        }
        #expect(error.code == .interceptorError && error.cause is Refused)

        let lenient = Deciding { _, _ in .sendWithout(status: false) }
        let away = try World()
        away.authority.script.value.fault = { _ in throw TransportError(.connectionFailed, "no") }
        try await away.service.precheck(policy: lenient)
        let untrusted = try World()
        untrusted.authority.script.value.fault = { _ in throw TransportError(.trustRefused, "no") }
        await #expect(throws: ApproovError(.networkingError, "")) { try await untrusted.service.precheck(policy: lenient) }
    }

    @Test("An authority that does not answer, or an attester that hangs, keeps the caller no longer than the limit")
    func bounded() async throws {
        for isCancelled in [false, true] {
            let (never, end) = AsyncStream.makeStream(of: Void.self)
            defer { end.finish() }
            let hanging = ScriptedAttester { _ in
                // Deaf to cancellation.
                await Task.detached { for await _ in never {} }.value
                return ""
            }
            let world = try World(attester: hanging)
            let waiting = Task { try await world.service.precheck() }
            await world.clock.sleepers(atLeast: 1)
            #expect(await eventually { world.attester.requests.count == 1 })
            if isCancelled {
                waiting.cancel()
                await #expect(throws: CancellationError.self) { try await waiting.value }
                #expect(world.service.lastResult == nil)
                world.clock.advance(by: .seconds(30))
            } else {
                world.clock.advance(by: .seconds(30))
                await #expect(throws: ApproovError(.networkingError, "")) { try await waiting.value }
            }
            #expect(await eventually { world.service.lastResult?.status == .poorNetwork })
        }
    }

    @Test(
        "A cancelled caller stops waiting, and its attestation goes on without making the service wait before the next one",
        arguments: [true, false])
    func cancelled(isGenuine: Bool) async throws {
        let world = try World()
        if !isGenuine { world.authority.script.value.secureStrings = nil }
        let gate = Gate()
        world.authority.script.value.fault = { request in
            if request.url.target == "/v1/attestations" { try await gate.wait() }
            return nil
        }
        let waiting = Task { try await world.service.precheck() }
        #expect(await eventually { gate.waiterCount == 1 })
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        // The attestation goes on, so it has not ended yet.
        #expect(world.service.lastResult == nil)
        gate.open()
        #expect(await eventually { world.service.lastResult != nil })
        #expect(world.service.lastResult?.status == (isGenuine ? .success : .rejected))
        #expect(await world.service.fetchToken(for: url).status == .success)
    }
}
