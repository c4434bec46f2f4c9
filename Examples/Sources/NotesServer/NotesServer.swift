import ApproovTokenCheck
import ApproovTokens
import Foundation
import Hummingbird

/// An API for notes with its own authorization server: `APPROOV_SECRET=… NotesServer api.pem api.key`.
@main
struct NotesServer {
    static func main() async throws {
        let settings: Settings
        do {
            settings = try Settings(
                arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment)
        } catch {
            FileHandle.standardError.write(Data("NotesServer: \(error)\n".utf8))
            exit(2)
        }
        // The audience of a token is the host that the app calls, without a port.
        let verifier = try TokenVerifier(keys: [settings.key], audience: settings.host)
        let connections = try ConnectionGuard(
            tls: .certificate(certificatePEM: settings.certificatePEM, keyPEM: settings.keyPEM))
        let app = Application(
            router: try notesRouter(checkingTokensWith: verifier, logins: LoginStore(passwords: settings.passwords)),
            server: connections.server,
            configuration: .init(address: .hostname("127.0.0.1", port: settings.port)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? settings.port
                FileHandle.standardOutput.write(Data("https://\(settings.host):\(port)\n".utf8))
            })
        // Runs until SIGTERM or SIGINT, and then answers the requests that it executes.
        try await app.runService()
    }
}

/// Makes the routes: the pages and endpoints of the authorization server, and the API.
///
/// The page for the user's browser is open, because a browser cannot attest. Everything that the app calls needs an attestation token.
func notesRouter(checkingTokensWith verifier: TokenVerifier, logins: LoginStore) throws -> Router<NotesContext> {
    let router = Router(context: NotesContext.self)
    addLoginPage(to: router, logins: logins)
    // No user is known yet where tokens are issued, so there is nothing to bind to.
    addTokenEndpoints(to: router.group().add(middleware: try TokenCheckMiddleware(verifier: verifier)), logins: logins)
    // The attestation token must be bound to the user's access token, so that neither can be used without the other.
    addNotes(
        to: router.group("notes")
            .add(middleware: try TokenCheckMiddleware(verifier: verifier, bindingHeaders: ["Authorization"]))
            .add(middleware: UserMiddleware(logins: logins)))
    return router
}
