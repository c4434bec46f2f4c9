import Approov
import Foundation
import FoundationNetworking

func order(at url: URL, accessToken: String, service: ApproovService) async throws -> Int {
    let session = try ApproovSession(service: service, bindHeader: "Authorization")
    var request = URLRequest(url: url)
    request.setValue("Bearer \(accessToken)", forHTTPHeaderField: "Authorization")
    let (_, response) = try await session.data(for: request)
    return response.statusCode
}
