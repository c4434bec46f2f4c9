import Approov
import ApproovAuthority
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import Testing

@testable import NotesApp
@testable import NotesServer

/// An authority, the notes server over TLS, and a browser, all on loopback.
struct NotesWorld {
    let authority: TestAuthority
    let server: TestHTTPServer
    let logins: LoginStore
    let browser: Browser
    let api: URL
    let service: ApproovService
    /// The app's folder; it goes with the authority's.
    let state: URL
    let appClock = ManualClock(date: Date())
    let serverClock: ManualClock

    static func start() async throws -> NotesWorld {
        let authority = try await TestAuthority.start(host: "authority.localhost")
        let root = try TestPKI.root()
        let certificate = try TestPKI.leaf(hosts: ["api.localhost"], issuer: root)
        try await authority.store.addHost(
            "api.localhost", settings: HostSettings(pins: [certificate.pin.description, root.pin.description], trustRoots: root.pem))
        // This process is the app: the authority accepts its executable once it is registered.
        try await authority.store.addRegistration(
            ExecutableMeasurement.sha256(ofFileAt: URL(filePath: "/proc/self/exe")), label: "tests")
        let clock = ManualClock(date: Date())
        let logins = LoginStore(passwords: ["alice": "wonderland", "bob": "builder"], now: { clock.date })
        let router = try notesRouter(
            checkingTokensWith: authority.store.tokenVerifier(audience: "api.localhost"), logins: logins)
        let server = try await TestHTTPServer.start(certificate: certificate, responder: router.buildResponder())
        let state = authority.directory.appending(path: "app")
        return NotesWorld(
            authority: authority, server: server, logins: logins, browser: try Browser(trusting: root.pem),
            api: try #require(URL(string: "https://api.localhost:\(server.port)")),
            service: try ApproovService(
                configuration: ApproovConfiguration(try await authority.initialConfiguration()), stateDirectory: state),
            state: state, serverClock: clock)
    }

    /// The app's log-in, as `NotesApp` makes it at its start.
    func account() throws -> Account { try Account(api: api, service: service, stateDirectory: state, clock: appClock) }

    /// The app's client, as `NotesApp` makes it at its start.
    func client(_ account: Account, recordingInto folder: URL? = nil) throws -> NotesClient {
        try NotesClient(account: account, service: service, api: api, recordingInto: folder)
    }

    func stop() async {
        await server.stop()
        await authority.stop()
    }
}
