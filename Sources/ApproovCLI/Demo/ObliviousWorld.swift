import ApproovBase
import ApproovRelay
import ApproovAuthority
import ApproovGateway
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import OHTTP

/// A relay and a gateway on loopback, with the records of their logs.
struct ObliviousWorld {
    static let apiHost = "private.demo.localhost"
    static let relayHost = "relay.demo.localhost"
    static let gatewayHost = "gateway.demo.localhost"

    let relay: RunningService
    let gateway: RunningService
    let relayLog: LogRecord
    let gatewayLog: LogRecord
    /// The API behind the gateway.
    let api: TestHTTPServer

    /// Starts the API, the gateway and the relay, and adds them to the account.
    static func start(in folder: URL, account store: AuthorityStore, root: TestCertificate) async throws -> ObliviousWorld {
        let (apiKeys, relayKeys) = (try keyPair(), try keyPair())
        let api = try await ShapesAPI.start(
            certificate: TestPKI.leaf(hosts: [apiHost], issuer: root, key: apiKeys[0]), verifier: store.tokenVerifier(audience: apiHost))
        let (relayLog, gatewayLog) = (LogRecord(), LogRecord())
        let keyFile = GatewayKeyFile(folder.appending(path: "gateway.keys"))
        let gatewayLeaf = try TestPKI.leaf(hosts: [gatewayHost], issuer: root)
        let gateway = try await RunningService.start { onReady in
            try Gateway(
                keys: keyFile,
                configuration: GatewayConfiguration(
                    port: 0, allowedOrigins: [DemoWorld.url("", port: api.port, host: apiHost)],
                    pins: [apiHost: apiKeys.map(\.pin.description)], trustRootsPEM: root.pem, tls: .leaf(gatewayLeaf)),
                logger: gatewayLog.logger, onReady: onReady)
        }
        let relayLeaf = try TestPKI.leaf(hosts: [relayHost], issuer: root, key: relayKeys[0])
        let relay = try await RunningService.start { onReady in
            try Relay(
                configuration: RelayConfiguration(
                    port: 0, gateway: DemoWorld.url("/gateway", port: gateway.port, host: gatewayHost),
                    gatewayPins: [gatewayLeaf.pin.description], gatewayTrustRootsPEM: root.pem,
                    tls: .certificate(certificatePEM: relayLeaf.chainPEM, keyPEM: relayLeaf.key.privateKeyPEM)),
                logger: relayLog.logger, onReady: onReady)
        }
        try await store.setOblivious(
            ObliviousSettings(
                relay: DemoWorld.url("/", port: relay.port, host: relayHost), keyConfig: Base64.encode(keyFile.load().published.encoded())),
            checkedBy: KeyConfigurationList.checked(published:))
        try await store.addHost(
            apiHost, settings: HostSettings(pins: apiKeys.map(\.pin.description), oblivious: true, trustRoots: root.pem))
        try await store.addHost(
            relayHost, settings: HostSettings(pins: relayKeys.map(\.pin.description), attested: false, trustRoots: root.pem))
        return ObliviousWorld(relay: relay, gateway: gateway, relayLog: relayLog, gatewayLog: gatewayLog, api: api)
    }

    /// A server's key and its backup.
    private static func keyPair() throws -> [TestKey] { [try TestKey(), try TestKey()] }

    func stop() async {
        try? await relay.stop()
        try? await gateway.stop()
        await api.stop()
    }
}

extension GatewayConfiguration.TLS {
    fileprivate static func leaf(_ leaf: TestCertificate) -> Self {
        .certificate(certificatePEM: leaf.chainPEM, keyPEM: leaf.key.privateKeyPEM)
    }
}
