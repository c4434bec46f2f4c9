import Approov
import Foundation
import FoundationNetworking

/// Calls the shapes API.
///
/// Each request carries a token that is bound to its Authorization header.
struct ShapesClient: Sendable {
    /// The API answered with a status other than 200.
    struct Refused: Error {
        let status: Int
    }

    let session: ApproovSession
    let api: URL

    /// Wraps the app's session.
    /// - Parameters:
    ///   - session: The session that the app has already; its timeouts, headers and cookies still apply.
    ///   - service: The source of tokens and pins; an app makes one and shares it.
    ///   - api: The API's URL.
    /// - Throws: `ApproovError` when the session's settings cannot be used.
    init(wrapping session: URLSession, service: ApproovService, api: URL) throws {
        self.session = try ApproovSession(wrapping: session, service: service, bindHeader: "Authorization")
        self.api = api
    }

    /// Asks for a shape.
    /// - Parameter accessToken: The user's access token.
    /// - Returns: The API's answer.
    /// - Throws: ``Refused`` when the API refuses the request; `ApproovError` when it could not be sent, and says what to do.
    func shape(accessToken: String) async throws -> String {
        var request = URLRequest(url: api.appending(path: "shapes"))
        request.setValue("Bearer \(accessToken)", forHTTPHeaderField: "Authorization")
        let (data, response) = try await session.data(for: request)
        guard response.statusCode == 200 else { throw Refused(status: response.statusCode) }
        return String(decoding: data, as: UTF8.self)
    }
}
