import ApproovTesting
import Attestation
import Foundation
import HTTPClient
import OHTTP
import Testing

@testable import Approov

@Suite("A route over a relay")
struct ObliviousRouteTests {
    private let key: KeyConfiguration
    private let relay: URL

    init() throws {
        key = try GatewayKey(id: 7).configuration
        relay = try #require(URL(string: "https://relay.test/"))
    }

    @Test("A session's own route accepts a list of keys or one bare key configuration")
    func bareConfiguration() throws {
        for keys in [KeyConfigurationList([key]).encoded(), key.encoded()] {
            #expect(try ObliviousRoute(relay: relay, keyConfiguration: Data(keys)).key == key)
        }
    }

    @Test("A route from the signed configuration rejects a bare key configuration: only a list is valid there")
    func signedList() throws {
        #expect(throws: OHTTPError.self) {
            try ObliviousRoute(ObliviousSettings(relay: "https://relay.test/", keyConfig: Base64.encode(key.encoded())))
        }
    }

    @Test("A route rejects malformed keys, and a relay without HTTPS unless its address is loopback")
    func refused() throws {
        let keys = Data(key.encoded())
        for bad in [Data(), Data([0]), keys.dropLast(), keys + [0], Data([0, 3, 1, 0, 0x30])] {
            #expect(code(as: ApproovError.self) { try ObliviousRoute(relay: relay, keyConfiguration: bad) } == .configurationError)
        }
        for text in ["http://relay.test/", "ftp://relay.test/", "relay"] {
            let bad = try #require(URL(string: text))
            #expect(code(as: ApproovError.self) { try ObliviousRoute(relay: bad, keyConfiguration: keys) } == .configurationError)
        }
        let local = try #require(URL(string: "http://127.0.0.1:8080/"))
        #expect(try ObliviousRoute(relay: local, keyConfiguration: keys).relay.port == 8_080)
    }

    @Test("A route with live keys has no key before they are fetched; only its relay can be malformed")
    func liveKeys() throws {
        struct NoKeys: KeyConfigurationClient {
            func fetchKeyConfiguration(invalidatingCache: Bool) async throws -> Data { Data() }
        }
        let route = try ObliviousRoute(relay: relay, keys: NoKeys())
        #expect(route.key == nil && route.liveKeys != nil && route.keyed(nil) == nil)
        #expect(route.keyed(key)?.key == key)
        for bad in ["http://relay.test/", "relay", "file:///relay"] {
            let relay = try #require(URL(string: bad))
            #expect(code(as: ApproovError.self) { try ObliviousRoute(relay: relay, keys: NoKeys()) } == .configurationError)
        }
    }
}
