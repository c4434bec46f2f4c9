import Approov
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import Testing

@Suite struct ServiceSecureStringsTests {
    private struct Deciding: AttestationPolicy {
        let decision: @Sendable (TokenFetchResult, String, URLRequest?) throws -> TokenDecision

        func decide(
            _ result: TokenFetchResult, forSecureString name: String, in request: URLRequest?
        ) async throws -> TokenDecision { try decision(result, name, request) }
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func world(_ strings: [String: String]? = ["maps-key": "canary-value"], hosts: [String: HostSettings]? = nil) throws -> World {
        let world = try World(hosts: hosts ?? ["api.test": .pinned], stateDirectory: folder.url)
        world.authority.script.value.secureStrings = strings
        return world
    }

    @Test("A genuine app gets the account's string, nil for an unknown key, and attests once for all of them")
    func genuine() async throws {
        let world = try world()
        #expect(try await world.service.secureString("maps-key") == "canary-value")
        #expect(try await world.service.secureString("other") == nil)
        #expect(world.authority.seen.value.attestations.count == 1)
        #expect(world.service.lastResult?.status == .success && world.service.lastResult?.token == "")
        // Nothing of it is on disk.
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path(percentEncoded: false)).isEmpty)
    }

    @Test("The attestation of a token brings the strings, too")
    func withToken() async throws {
        let world = try world()
        _ = await world.service.fetchToken(for: URL(string: "https://api.test/")!)
        #expect(try await world.service.secureString("maps-key") == "canary-value")
        #expect(world.authority.seen.value.attestations.count == 1)
    }

    @Test("When the attestation's life is over, another one decides, and a change at the authority has arrived")
    func expiry() async throws {
        let world = try world()
        #expect(try await world.service.secureString("maps-key") == "canary-value")
        world.authority.script.value.secureStrings = ["maps-key": "changed-value"]
        world.clock.advance(by: .seconds(294))
        #expect(try await world.service.secureString("maps-key") == "canary-value")
        world.clock.advance(by: .seconds(1))
        #expect(try await world.service.secureString("maps-key") == "changed-value")
        world.clock.advance(by: .seconds(300))
        world.authority.script.value.secureStrings = nil
        await #expect(throws: ApproovError(.rejectionError, "")) { try await world.service.secureString("maps-key") }
    }

    @Test("An app that is not genuine gets no string, and loses the ones it had, its own as well")
    func rejected() async throws {
        let world = try world()
        try world.service.setSecureString("own-canary", for: "own")
        #expect(try await world.service.secureString("own") == "own-canary")
        world.authority.script.value.secureStrings = nil
        // Another attestation within the life of the first.
        _ = await world.service.fetchLimitedUseToken(for: URL(string: "https://api.test/")!)
        for key in ["maps-key", "own", "unknown"] {
            let error = await #expect(throws: ApproovError.self) { try await world.service.secureString(key) }
            #expect(error?.code == .rejectionError && error?.arc == "IXPSB7TRK26LXE3M" && !"\(error as Any)".contains("canary"))
        }
        #expect(world.authority.seen.value.attestations.count == 2)
        // Registered meanwhile: after half a minute the app asks again.
        world.authority.script.value.secureStrings = ["maps-key": "canary-value"]
        world.clock.advance(by: .seconds(30))
        #expect(try await world.service.secureString("own") == "own-canary")
    }

    @Test("With reasons for a rejection the error has them")
    func reasons() async throws {
        let world = try world()
        world.authority.script.value.rejectionReasons = ["debugger"]
        let error = await #expect(throws: ApproovError.self) { try await world.service.secureString("maps-key") }
        #expect(error?.code == .rejectionError && error?.rejectionReasons == ["debugger"])
    }

    @Test("The app's own string comes before one of the account, survives a restart, and can be removed")
    func own() async throws {
        let attester = ScriptedAttester()
        let world = try World(attester: attester, stateDirectory: folder.url)
        world.authority.script.value.secureStrings = ["maps-key": "predefined"]
        try world.service.setSecureString("own", for: "maps-key")
        let restarted = try World(attester: attester, stateDirectory: folder.url)
        restarted.authority.script.value.secureStrings = ["maps-key": "predefined"]
        #expect(try await restarted.service.secureString("maps-key") == "own")
        #expect(try restarted.service.removeSecureString("maps-key"))
        #expect(try await world.service.secureString("maps-key") == "predefined")
    }

    @Test(
        "A malformed key is refused without an attestation", arguments: ["", "a b", "a\r", "a\n", "a\0", String(repeating: "k", count: 65)])
    func badKey(_ key: String) async throws {
        let world = try world()
        let error = await #expect(throws: ApproovError.self) { try await world.service.secureString(key) }
        #expect(error?.code == .permanentError && (error?.cause as? ApproovError)?.code == .secureStringError)
        #expect(error?.message.contains("secure string") == true && error?.message.contains("token") == false)
        #expect(world.authority.seen.value.attestations.isEmpty)
    }

    @Test("It fails as the attestation does, and callers at the same time share one attestation")
    func fails() async throws {
        for (code, world) in try World.withoutTokens() {
            await #expect(throws: ApproovError(code, "")) { try await world.service.secureString("maps-key") }
        }
        let world = try world()
        let gate = Gate()
        world.authority.script.value.fault = { request in
            if request.url.target == "/v1/attestations" { try await gate.wait() }
            return nil
        }
        let callers = (0..<8).map { _ in Task { try await world.service.secureString("maps-key") } }
        #expect(await eventually { gate.waiterCount == 1 })
        callers[0].cancel()
        await #expect(throws: CancellationError.self) { try await callers[0].value }
        gate.open()
        for caller in callers.dropFirst() { #expect(try await caller.value == "canary-value") }
        #expect(world.authority.seen.value.attestations.count == 1)
    }

    @Test("It attests for a host that is not oblivious; if there is none, the error says so")
    func oblivious() async throws {
        let oblivious = HostSettings.pinned.with { $0.oblivious = true }
        let both = try world(hosts: ["a.test": oblivious, "b.test": .pinned])
        #expect(try await both.service.secureString("maps-key") == "canary-value")
        #expect(both.authority.seen.value.attestations.map(\.host) == ["b.test"])
        // The attestation for an oblivious host brings no strings, and leaves those of another host.
        both.authority.script.value.secureStrings = [:]
        _ = await both.service.fetchToken(for: URL(string: "https://a.test/")!)
        #expect(try await both.service.secureString("maps-key") == "canary-value")
        let alone = try world(hosts: ["a.test": oblivious])
        let error = await #expect(throws: ApproovError.self) { try await alone.service.secureString("maps-key") }
        #expect(error?.code == .permanentError && "\(error as Any)".contains("oblivious"))
        #expect(alone.authority.seen.value.attestations.isEmpty)
    }

    @Test("An attestation that fails takes the account's strings and the app's own away, also one for an oblivious host")
    func rejectedForObliviousHost() async throws {
        let world = try world(hosts: ["a.test": .pinned.with { $0.oblivious = true }, "b.test": .pinned])
        try world.service.setSecureString("own-canary", for: "own")
        #expect(try await world.service.secureString("own") == "own-canary")
        world.authority.script.value.secureStrings = nil
        _ = await world.service.fetchToken(for: URL(string: "https://a.test/")!)
        for key in ["own", "maps-key"] {
            await #expect(throws: ApproovError(.rejectionError, "")) { try await world.service.secureString(key) }
        }
        #expect(world.authority.seen.value.attestations.count == 2)
    }

    @Test("A policy decides about every result, and never sees the value")
    func policy() async throws {
        let world = try world()
        let seen = Shared<[String]>([])
        let policy = Deciding { result, name, request in
            seen.change { $0.append("\(result.status) \(name) \(request == nil) \(result) \(result.token)") }
            return name == "maps-key" ? .attach : .sendWithout(status: true)
        }
        #expect(try await world.service.secureString("maps-key", policy: policy) == "canary-value")
        #expect(try await world.service.secureString("other", policy: policy) == nil)
        #expect(seen.value.count == 2 && !seen.value.joined().contains("canary"))
        #expect(seen.value[0].hasPrefix("success maps-key true") && seen.value[1].hasPrefix("unknownKey other true"))
        await #expect(throws: ApproovError(.permanentError, "")) {
            try await world.service.secureString("maps-key", policy: Deciding { _, _, _ in .fail })
        }
        await #expect(throws: ApproovError(.interceptorError, "")) {
            try await world.service.secureString("other", policy: Deciding { _, _, _ in .attach })
        }
    }
}
