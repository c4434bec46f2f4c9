import ApproovAuthority
import ApproovRelay
import ApproovGateway
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import OHTTP
import Testing

/// A relay and a gateway in front of the world's API, on their own sockets with TLS.
struct ObliviousPath {
    static let relayHost = "relay.test.localhost"
    static let gatewayHost = "gateway.test.localhost"

    let relay: RunningService
    let gateway: RunningService
    let keyFile: GatewayKeyFile
    let root: TestCertificate

    /// Starts both and makes the API's host oblivious.
    static func start(_ world: LoopbackWorld, chunked: Bool? = nil) async throws -> ObliviousPath {
        let keyFile = GatewayKeyFile(world.folder.file("gateway.keys"))
        let pins = world.keys.prefix(2).map(\.pin.description)
        let gatewayLeaf = try TestPKI.leaf(hosts: [gatewayHost], issuer: world.root)
        let gateway = try await RunningService.start { onReady in
            try Gateway(
                keys: keyFile,
                configuration: GatewayConfiguration(
                    port: 0, allowedOrigins: ["https://\(LoopbackWorld.apiHost):\(world.api.port)"], pins: [LoopbackWorld.apiHost: pins],
                    trustRootsPEM: world.root.pem,
                    tls: .certificate(certificatePEM: gatewayLeaf.chainPEM, keyPEM: gatewayLeaf.key.privateKeyPEM)),
                onReady: onReady)
        }
        let relayKeys = [try TestKey(), try TestKey()]
        let relayLeaf = try TestPKI.leaf(hosts: [relayHost], issuer: world.root, key: relayKeys[0])
        let relay = try await RunningService.start { onReady in
            try Relay(
                configuration: RelayConfiguration(
                    port: 0, gateway: "https://\(gatewayHost):\(gateway.port)/gateway", gatewayPins: [gatewayLeaf.pin.description],
                    gatewayTrustRootsPEM: world.root.pem,
                    tls: .certificate(certificatePEM: relayLeaf.chainPEM, keyPEM: relayLeaf.key.privateKeyPEM)),
                onReady: onReady)
        }
        let path = ObliviousPath(relay: relay, gateway: gateway, keyFile: keyFile, root: world.root)
        try await path.publish(to: world, chunked: chunked)
        let store = world.authority.store
        try await store.addHost(LoopbackWorld.apiHost, settings: HostSettings(pins: pins, oblivious: true, trustRoots: world.root.pem))
        try await store.addHost(
            relayHost, settings: HostSettings(pins: relayKeys.map(\.pin.description), attested: false, trustRoots: world.root.pem))
        return path
    }

    /// Publishes the gateway's current keys in the account's configuration.
    func publish(to world: LoopbackWorld, chunked: Bool? = nil) async throws {
        try await world.authority.store.setOblivious(
            ObliviousSettings(
                relay: "https://\(Self.relayHost):\(relay.port)/", keyConfig: Base64.encode(keyFile.load().published.encoded()),
                chunked: chunked), checkedBy: KeyConfigurationList.checked(published:))
    }

    /// Waits until the gateway serves the keys that its file contains now.
    func waitForKeys() async throws {
        let keys = try keyFile.load().published.encoded()
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root.pem))
        let request = TransportRequest(url: try TransportURL("https://\(Self.gatewayHost):\(gateway.port)/ohttp-keys"), policy: policy)
        let isServed = try await eventually { try await transport.send(request).body.collect(upTo: 1 << 16) == Array(keys) }
        try #require(isServed)
    }

    func stop() async throws {
        try await relay.stop()
        try await gateway.stop()
    }
}
