import Approov
import Foundation
import FoundationNetworking

func boundSession(service: ApproovService) throws -> ApproovSession {
    try ApproovSession(service: service, bindHeader: "Authorization")
}

func order(at url: URL, accessToken: String, with session: ApproovSession) async throws -> Int {
    var request = URLRequest(url: url)
    request.setValue("Bearer \(accessToken)", forHTTPHeaderField: "Authorization")
    let (_, response) = try await session.data(for: request)
    return response.statusCode
}
