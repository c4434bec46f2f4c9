import Approov
import Foundation
import FoundationNetworking

func askPrivately(_ url: URL, relay: URL, gatewayKeys: Data) async throws -> String {
    let route = try ObliviousRoute(relay: relay, keyConfiguration: gatewayKeys)
    let session = try ApproovSession(service: nil, obliviousRoute: route, allRequestsMustBeOblivious: true)
    let (data, _) = try await session.data(from: url)
    return String(decoding: data, as: UTF8.self)
}
