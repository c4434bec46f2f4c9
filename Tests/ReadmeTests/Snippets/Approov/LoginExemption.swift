import Approov
import Foundation
import FoundationNetworking

func sessionWithLogin(service: ApproovService) throws -> ApproovSession {
    var configuration = ApproovSessionConfiguration()
    configuration.unboundRequests = .allowedWhere { request in request.url?.path() == "/login" }
    return try ApproovSession(service: service, bindHeader: "Authorization", configuration: configuration)
}
