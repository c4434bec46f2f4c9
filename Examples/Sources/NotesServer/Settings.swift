import ApproovTokens
import Attestation
import Foundation

/// The settings of the server, from its arguments and its environment.
struct Settings {
    /// A setting is missing or wrong.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    let certificatePEM: String
    let keyPEM: String
    let host: String
    let port: Int
    /// The key that signs attestation tokens.
    let key: VerificationKey
    /// The users' passwords.
    ///
    /// A real server stores hashes, made with a slow function such as scrypt.
    let passwords: [String: String]

    /// Reads the settings.
    /// - Parameters:
    ///   - arguments: The files of the server's certificate and key.
    ///   - environment: `APPROOV_SECRET`, and more as Examples/README.md says.
    /// - Throws: ``Problem`` when a setting is missing; the error of the file or key that cannot be read.
    init(arguments: [String], environment: [String: String]) throws {
        guard arguments.count == 2 else { throw Problem(description: "usage: NotesServer CERTIFICATE KEY") }
        certificatePEM = try String(contentsOfFile: arguments[0], encoding: .utf8)
        keyPEM = try String(contentsOfFile: arguments[1], encoding: .utf8)
        host = environment["API_HOST"] ?? "api.localhost"
        guard let port = Int(environment["API_PORT"] ?? "9443") else { throw Problem(description: "API_PORT is not a number") }
        self.port = port
        guard let secret = environment["APPROOV_SECRET"] else {
            throw Problem(description: "set APPROOV_SECRET, for example to $(approov secret -get base64)")
        }
        key = try .hs256(AccountSecret(base64: secret))
        // NAME:PASSWORD,NAME:PASSWORD
        var passwords: [String: String] = [:]
        for user in (environment["NOTES_USERS"] ?? "").split(separator: ",") {
            let parts = user.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw Problem(description: "NOTES_USERS is not NAME:PASSWORD,NAME:PASSWORD") }
            passwords[parts[0]] = parts[1]
        }
        guard !passwords.isEmpty else { throw Problem(description: "set NOTES_USERS, for example to alice:wonderland") }
        self.passwords = passwords
    }
}
