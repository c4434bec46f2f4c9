import ApproovTokens
import Foundation

/// The settings of the backend, from its arguments and its environment.
struct Settings {
    /// A setting is missing or wrong.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    let certificatePEM: String
    let keyPEM: String
    let host: String
    let port: Int
    /// The keys that may have signed a token.
    var keys: [VerificationKey] = []

    /// Reads the settings.
    /// - Parameters:
    ///   - arguments: The files of the server's certificate and key.
    ///   - environment: `APPROOV_SECRET`, and more as Examples/README.md says.
    /// - Throws: ``Problem`` when a setting is missing; the error of the file or key that cannot be read.
    init(arguments: [String], environment: [String: String]) throws {
        guard arguments.count == 2 else { throw Problem(description: "usage: ExampleBackend CERTIFICATE KEY") }
        certificatePEM = try String(contentsOfFile: arguments[0], encoding: .utf8)
        keyPEM = try String(contentsOfFile: arguments[1], encoding: .utf8)
        host = environment["API_HOST"] ?? "api.localhost"
        guard let port = Int(environment["API_PORT"] ?? "9443") else { throw Problem(description: "API_PORT is not a number") }
        self.port = port
        if let secret = environment["APPROOV_SECRET"] { try keys.append(.hs256(AccountSecret(base64: secret))) }
        // Hosts with a keyset (approov api -keySetKID) get tokens that the authority's public keys verify.
        if let file = environment["APPROOV_JWKS_FILE"] {
            keys += try JSONDecoder().decode(JWKS.self, from: Data(contentsOf: URL(filePath: file))).verificationKeys()
        }
        guard !keys.isEmpty else { throw Problem(description: "set APPROOV_SECRET, for example to $(approov secret -get base64)") }
    }
}
