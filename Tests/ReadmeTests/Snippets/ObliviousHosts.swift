import Approov
import Foundation
import FoundationNetworking

func obliviousSession(relay: URL, gatewayKeys: Data) throws -> ApproovSession {
    let route = try ObliviousRoute(relay: relay, keyConfiguration: gatewayKeys)
    return try ApproovSession(service: nil, obliviousRoute: route, allRequestsMustBeOblivious: true)
}
