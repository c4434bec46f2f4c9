import Approov
import Foundation
import FoundationNetworking

struct ShapesClient {
    let session: ApproovSession

    init(wrapping existing: URLSession) throws {
        let service = try ApproovService(configuration: .bundled(), stateDirectory: ApproovService.defaultStateDirectory())
        session = try ApproovSession(wrapping: existing, service: service, bindHeader: "Authorization")
    }

    func shapes(at url: URL, accessToken: String) async throws -> Data {
        var request = URLRequest(url: url)
        request.setValue("Bearer \(accessToken)", forHTTPHeaderField: "Authorization")
        let (data, response) = try await session.data(for: request)
        guard response.statusCode == 200 else { throw URLError(.badServerResponse) }
        return data
    }
}
