import Approov
import Foundation

func privateSession(relay: URL, gatewayKeys: URL) throws -> ApproovSession {
    let keys = try HTTPKeyConfigurationClient(url: gatewayKeys)
    let route = try ObliviousRoute(relay: relay, keys: keys)
    return try ApproovSession(service: nil, obliviousRoute: route, allRequestsMustBeOblivious: true)
}
