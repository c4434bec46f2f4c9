import Approov
import Foundation
import FoundationNetworking

func mapSession(_ service: ApproovService) throws -> ApproovSession {
    var configuration = ApproovSessionConfiguration()
    configuration.substitutions = [try Substitution(hosts: ["maps.example.com"], headers: ["Api-Key": ""], queryParameters: ["key"])]
    return try ApproovSession(service: service, configuration: configuration)
}

func map(at url: URL, with session: ApproovSession) async throws -> Data {
    var request = URLRequest(url: url)
    request.setValue("maps-key", forHTTPHeaderField: "Api-Key")
    return try await session.data(for: request).0
}
