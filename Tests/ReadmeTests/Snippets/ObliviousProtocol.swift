import Approov
import Foundation
import FoundationNetworking

func obliviousConfiguration(keys: URL, relay: URL) throws -> URLSessionConfiguration {
    try ApproovURLProtocol.configure(userAgent: "The Application", keyURL: keys, relayURL: relay)
    ApproovURLProtocol.isEnabled = true  // false at first, so that it can be switched on for some
    let configuration = URLSessionConfiguration.default
    configuration.protocolClasses = [ApproovURLProtocol.self] + (configuration.protocolClasses ?? [])
    return configuration
}
