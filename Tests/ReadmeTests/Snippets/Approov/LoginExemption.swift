import Approov
import Foundation
import FoundationNetworking

func sessionWithLogin(service: ApproovService) throws -> ApproovSession {
    try ApproovSession(
        service: service, bindHeader: "Authorization",
        unboundRequests: .allowedWhere { request in request.url?.path() == "/login" })
}
