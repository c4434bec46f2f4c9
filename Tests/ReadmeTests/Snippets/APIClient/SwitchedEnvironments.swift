import APIClient
import Approov
import CertificatePinning
import Foundation

func session(
    for environment: APIEnvironment, stateDirectory: URL, users: @escaping @Sendable (APIEnvironment) -> CredentialHolder
) throws -> EnvironmentSession {
    try EnvironmentSession(environment, stateDirectory: stateDirectory) { environment, _, configuration in
        let hosts = try [HostPattern(environment.baseURL.host() ?? "")]
        configuration.credential = .header("Authorization", users(environment), for: hosts)
    }
}
