import Approov
import FoundationNetworking

struct AttestedApp {
    let service: ApproovService
    let session: ApproovSession

    init(wrapping existing: URLSession) throws {
        service = try ApproovService(configuration: .bundled(), stateDirectory: ApproovService.defaultStateDirectory())
        session = try ApproovSession(wrapping: existing, service: service, bindHeader: "Authorization")
    }
}
