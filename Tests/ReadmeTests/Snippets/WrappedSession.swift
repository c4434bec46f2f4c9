import Approov
import FoundationNetworking

func attestedSession(wrapping existing: URLSession) throws -> ApproovSession {
    let service = try ApproovService(configuration: .bundled(), stateDirectory: ApproovService.defaultStateDirectory())
    return try ApproovSession(wrapping: existing, service: service, bindHeader: "Authorization")
}
