import ApproovAuthority
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation

/// The demo's servers, all on loopback, and its temporary folder.
struct DemoWorld {
    static let apiHost = "api.demo.localhost"
    /// A host that is pinned but gets no tokens; a step adds it to the account while the app runs.
    static let staticHost = "static.demo.localhost"

    let folder: URL
    let authority: TestAuthority
    /// The certificate authority that every client in the demo trusts.
    let root: TestCertificate
    /// The API's current key, its next key, and the one after that.
    let keys: [TestKey]
    let api: TestHTTPServer
    /// The secret that the API demands at `/v1/map`; made at random when the demo starts.
    let secret: String
    let impostor: RawServer
    /// The relay, the gateway, and the API behind them.
    let oblivious: ObliviousWorld
    /// The authorization server, and the API with users.
    let users: UsersWorld

    /// The initial configuration that the app ships with.
    var configurationFile: URL { folder.appending(path: "approov-initial.config") }
    /// The roots for hosts without their own roots.
    var rootsFile: URL { folder.appending(path: "roots.pem") }
    /// The running app's state directory.
    var appState: URL { folder.appending(path: "app-state", directoryHint: .isDirectory) }

    static func start(in folder: URL) async throws -> DemoWorld {
        let root = try TestPKI.root("Demo CA")
        let keys = try (0..<3).map { _ in try TestKey() }
        let hosts = [apiHost, staticHost]
        let authority = try await TestAuthority.start(
            directory: folder.appending(path: "authority"), seed: DemoAccount.seed(), host: DemoAccount.authorityHost)
        try await authority.store.addRegistration(
            ExecutableMeasurement.sha256(ofFileAt: OwnExecutable.url), label: "the demo's own executable")
        try await authority.store.addHost(
            apiHost, settings: HostSettings(pins: keys.prefix(2).map(\.pin.description), trustRoots: root.pem))
        let secret = UUID().uuidString
        try await authority.store.setSecureString(secret, for: ShapesAPI.mapKey)
        let api = try await ShapesAPI.start(
            certificate: TestPKI.leaf(hosts: hosts, issuer: root, key: keys[0]),
            verifier: authority.store.tokenVerifier(audience: apiHost), secret: secret)
        let impostor = try await RawServer.start(certificate: TestPKI.leaf(hosts: hosts, issuer: root)) { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nimpostor")
        }
        let oblivious = try await ObliviousWorld.start(in: folder, account: authority.store, root: root)
        let users = try await UsersWorld.start(
            root: root, apiKey: keys[0], verifier: authority.store.tokenVerifier(audience: apiHost))
        let world = DemoWorld(
            folder: folder, authority: authority, root: root, keys: keys, api: api, secret: secret, impostor: impostor,
            oblivious: oblivious, users: users)
        try await Data(authority.initialConfiguration().serialized).write(to: world.configurationFile)
        try Data(root.pem.utf8).write(to: world.rootsFile)
        return world
    }

    func url(_ path: String, port: Int, host: String = apiHost) -> String { Self.url(path, port: port, host: host) }

    static func url(_ path: String, port: Int, host: String) -> String { "https://\(host):\(port)\(path)" }

    func stop() async {
        async let stopped: Void = api.stop()
        async let stoppedImpostor: Void = impostor.stop()
        async let stoppedOblivious: Void = oblivious.stop()
        async let stoppedUsers: Void = users.stop()
        await authority.stop(removingStore: false)
        _ = await (stopped, stoppedImpostor, stoppedOblivious, stoppedUsers)
    }
}
