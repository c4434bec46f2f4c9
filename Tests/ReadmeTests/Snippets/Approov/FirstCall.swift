import Approov
import Foundation
import FoundationNetworking

func firstCall(to url: URL, accessToken: String) async throws -> Data {
    let service = try ApproovService(configuration: .bundled(), stateDirectory: ApproovService.defaultStateDirectory())
    let session = try ApproovSession(service: service, bindHeader: "Authorization")
    var request = URLRequest(url: url)
    request.setValue("Bearer \(accessToken)", forHTTPHeaderField: "Authorization")
    let (data, _) = try await session.data(for: request)
    return data
}
