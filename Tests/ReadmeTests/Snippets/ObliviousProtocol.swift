import Approov
import Foundation
import FoundationNetworking

func obliviousConfiguration(keys: URL, relay: URL) throws -> URLSessionConfiguration {
    try ApproovURLProtocol.configure(userAgent: "The Application", keyURL: keys, relayURL: relay)
    ApproovURLProtocol.isEnabled = true  // off by default, so that you can enable it for some users first
    let configuration = URLSessionConfiguration.default
    configuration.protocolClasses = [ApproovURLProtocol.self] + (configuration.protocolClasses ?? [])
    return configuration
}
