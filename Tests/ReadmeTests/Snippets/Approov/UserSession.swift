import Approov
import CertificatePinning
import Foundation
import FoundationNetworking

func userSession(service: ApproovService, user: CredentialHolder) throws -> ApproovSession {
    var configuration = ApproovSessionConfiguration()
    configuration.credential = .header("Authorization", user, for: [try HostPattern("api.example.com")])
    configuration.unboundRequests = .allowedWhere { request in request.url?.path() == "/login" }
    return try ApproovSession(service: service, bindHeader: "Authorization", configuration: configuration)
}

func logIn(_ accessToken: String, _ user: CredentialHolder) throws { try user.update("Bearer \(accessToken)") }

func logOut(_ user: CredentialHolder) throws { try user.update(nil) }
