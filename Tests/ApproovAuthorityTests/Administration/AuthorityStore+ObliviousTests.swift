import ApproovBase
import ApproovTesting
import Attestation
import OHTTP
import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStoreObliviousTests {
    private static let relay = "https://relay.example.com/"
    private static let oblivious = HostSettings(pins: AuthorityBench.pins, oblivious: true)

    private func keys(_ ids: UInt8...) throws -> String {
        Base64.encode(try GatewayKeyring(ids.map { try GatewayKey(id: $0) }).configurations.encoded())
    }

    private func configuration(of store: AuthorityStore) throws -> DynamicConfiguration {
        let bytes = try store.currentConfiguration().payloadBytes
        return try DynamicConfiguration(json: JSONValue(reading: bytes, limit: DynamicConfiguration.maximumBytes))
    }

    @Test("A host can be oblivious once a relay is set, and the signed configuration contains both")
    func set() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        await refuses(.obliviousUnset) { try await store.addHost("a.example.com", settings: Self.oblivious) }
        let version = store.configurationVersion
        let settings = ObliviousSettings(relay: Self.relay, keyConfig: try keys(1, 2), chunked: false)
        try await store.setOblivious(settings)
        #expect(store.configurationVersion == version + 1)
        try await store.addHost("a.example.com", settings: Self.oblivious)
        let configuration = try configuration(of: store)
        #expect(configuration.oblivious == settings)
        #expect(configuration.hosts["a.example.com"]?.oblivious == true)
        #expect(store.obliviousSettings == settings)
    }

    @Test("Another store on the same folder gets the relay when it refreshes")
    func takenUp() async throws {
        let account = try await AuthorityBench()
        let other = try AuthorityStore(directory: account.directory.url, time: account.clock)
        try await account.store.setOblivious(ObliviousSettings(relay: Self.relay, keyConfig: try keys(1)))
        #expect(other.obliviousSettings == nil)
        #expect(try await other.refresh())
        #expect(other.obliviousSettings == account.store.obliviousSettings)
    }

    @Test("New keys replace the old ones in a new configuration version")
    func replace() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        try await store.setOblivious(ObliviousSettings(relay: Self.relay, keyConfig: try keys(1), chunked: true))
        let version = store.configurationVersion
        let settings = ObliviousSettings(relay: Self.relay, keyConfig: try keys(2))
        try await store.setOblivious(settings)
        #expect(store.obliviousSettings == settings)
        #expect(store.configurationVersion == version + 1)
    }

    @Test("A bare key configuration is stored as the list that apps expect")
    func bare() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        let key = try GatewayKey(id: 7).configuration
        try await store.setOblivious(ObliviousSettings(relay: Self.relay, keyConfig: Base64.encode(key.encoded())))
        let stored = try #require(store.obliviousSettings.flatMap { Base64.decode($0.keyConfig) })
        #expect(try KeyConfigurationList(decoding: stored).configurations == [key])
    }

    @Test("The store contains the key list that the check returns")
    func checked() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        let list: [UInt8] = [7, 7]
        try await store.setOblivious(ObliviousSettings(relay: Self.relay, keyConfig: Base64.encode([1, 2, 3]))) { bytes in
            #expect(bytes == [1, 2, 3])
            return list
        }
        #expect(store.obliviousSettings?.keyConfig == Base64.encode(list))
    }

    @Test("Keys for which the check throws or returns no bytes are rejected and change nothing")
    func refusedByCheck() async throws {
        struct Refused: Error {}
        let bench = try await AuthorityBench()
        let store = bench.store
        let version = store.configurationVersion
        let settings = ObliviousSettings(relay: Self.relay, keyConfig: try keys(1))
        await refuses(.malformedOblivious) { try await store.setOblivious(settings) { _ in throw Refused() } }
        await refuses(.malformedOblivious) { try await store.setOblivious(settings) { _ in [] } }
        #expect(store.configurationVersion == version)
        #expect(store.obliviousSettings == nil)
    }

    @Test("The relay cannot be removed while a host is oblivious")
    func remove() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        try await store.setOblivious(ObliviousSettings(relay: Self.relay, keyConfig: try keys(1)))
        try await store.addHost("a.example.com", settings: Self.oblivious)
        await refuses(.obliviousInUse) { try await store.removeOblivious() }
        #expect(store.obliviousSettings != nil)
        try await store.addHost("a.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        try await store.removeOblivious()
        #expect(store.obliviousSettings == nil)
        #expect(try configuration(of: store).oblivious == nil)
    }

    @Test("A relay or keys that no app could use are rejected, and nothing changes")
    func malformed() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        let version = store.configurationVersion
        let good = try keys(1)
        let bytes = try #require(Base64.decode(good))
        for relay in ["http://relay.example.com/", "http://127.0.0.1/", "relay.example.com", "", "https://me@relay.example.com/"] {
            await refuses(.malformedOblivious) { try await store.setOblivious(ObliviousSettings(relay: relay, keyConfig: good)) }
        }
        let unknownKEM: [UInt8] = [0, 11, 1, 0, 0x30, 9, 9, 0, 4, 0, 1, 0, 1]
        let broken = [Array(bytes.dropLast()), bytes + [0], unknownKEM, [], [1, 2, 3], bytes + [0, 3, 1, 0, 0x20]]
        for keys in broken.map(Base64.encode) + ["no base64!"] {
            await refuses(.malformedOblivious) { try await store.setOblivious(ObliviousSettings(relay: Self.relay, keyConfig: keys)) }
        }
        #expect(store.configurationVersion == version)
        #expect(store.obliviousSettings == nil)
    }
}
