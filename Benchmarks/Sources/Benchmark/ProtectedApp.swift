import Approov
import Foundation
import FoundationNetworking
import HTTPTransport
import Logging

/// An app of the backend's account, with its state in a temporary folder.
struct ProtectedApp {
    static let authorization = "Bearer 0123456789abcdef"

    let service: ApproovService
    let session: ApproovSession
    private let state: URL

    init(_ backend: BackendProcess) throws { try self.init(configuration: backend.configuration) }

    init(configuration: String) throws {
        state = FileManager.default.temporaryDirectory.appending(path: "approov-benchmark-\(UUID().uuidString)")
        service = try ApproovService(
            configuration: ApproovConfiguration(configuration), stateDirectory: state,
            logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() })
        session = try ApproovSession(service: service, bindHeader: "Authorization")
    }

    /// The lines of the header fields that a request to a URL carries: Authorization, and the token that is bound to it.
    func fields(for url: String) async throws -> [String] {
        guard let url = URL(string: url) else { throw BenchmarkError("\(url) is not a URL") }
        let token = await service.fetchToken(for: url, binding: Self.authorization)
        return ["Authorization: \(Self.authorization)", "Approov-Token: \(token.token)"]
    }

    func remove() { try? FileManager.default.removeItem(at: state) }

    static func request(_ text: String) throws -> URLRequest {
        guard let url = URL(string: text) else { throw BenchmarkError("\(text) is not a URL") }
        var request = URLRequest(url: url)
        request.setValue(authorization, forHTTPHeaderField: "Authorization")
        return request
    }
}

/// ApproovSession on a protected host: token from the cache, bound to Authorization, pins on.
struct ApproovSessionClient: LoadClient {
    let session: ApproovSession
    let request: URLRequest

    func get() async throws {
        let (data, response) = try await session.data(for: request)
        try expectFiveBytes(status: response.statusCode, count: data.count, from: "ApproovSession")
    }
}
