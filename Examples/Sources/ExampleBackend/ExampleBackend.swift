import ApproovTokenCheck
import ApproovTokens
import Foundation
import Hummingbird

/// A backend that answers only requests with a valid token: `APPROOV_SECRET=… ExampleBackend api.pem api.key`.
@main
struct ExampleBackend {
    static func main() async throws {
        let settings: Settings
        do {
            settings = try Settings(
                arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment)
        } catch {
            FileHandle.standardError.write(Data("ExampleBackend: \(error)\n".utf8))
            exit(2)
        }
        do {
            // The audience of a token is the host that the app calls, without a port.
            let verifier = try TokenVerifier(keys: settings.keys, audience: settings.host)
            let connections = try ConnectionGuard(
                tls: .certificate(certificatePEM: settings.certificatePEM, keyPEM: settings.keyPEM))
            let app = Application(
                router: try shapesAPI(checkingTokensWith: verifier), server: connections.server,
                configuration: .init(address: .hostname("127.0.0.1", port: settings.port)),
                onServerRunning: { channel in
                    let port = channel.localAddress?.port ?? settings.port
                    FileHandle.standardOutput.write(Data("https://\(settings.host):\(port)\n".utf8))
                })
            // Runs until SIGTERM or SIGINT, and then answers the requests that it executes.
            try await app.runService()
        } catch {
            FileHandle.standardError.write(Data("ExampleBackend: \(error)\n".utf8))
            exit(1)
        }
    }
}
