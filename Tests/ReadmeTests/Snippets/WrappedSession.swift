import Approov
import Foundation
import FoundationNetworking

struct ShapesClient {
    let session: ApproovSession

    init(wrapping existing: URLSession) throws {
        let service = try ApproovService(configuration: .bundled(), stateDirectory: ApproovService.defaultStateDirectory())
        session = try ApproovSession(wrapping: existing, service: service)
    }

    func shape(at url: URL) async throws -> Data { try await session.data(from: url).0 }
}
