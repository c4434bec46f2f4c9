import APIClient
import Approov
import CertificatePinning
import Foundation
import FoundationNetworking

/// A user with a browser: reads the log-in page, fills in the form, and follows the redirect to the app.
struct Browser: Sendable {
    /// The page is not what a user could use.
    struct Unusable: Error {
        let status: Int
    }

    fileprivate let session: ApproovSession

    /// Makes a browser that trusts a root, and is not attested.
    init(trusting root: String) throws {
        var configuration = ApproovSessionConfiguration()
        // Each step is checked, so redirects are followed by hand.
        configuration.maximumRedirects = 0
        session = try ApproovSession(
            service: nil,
            trustManager: ApproovTrustManager(
                evaluators: ["api.localhost": DefaultTrustEvaluator().anchored(by: TrustAnchors(pem: root))]),
            configuration: configuration)
    }

    /// Logs in on a page.
    /// - Parameters:
    ///   - page: The page.
    ///   - user: The name for its form.
    ///   - password: The password for its form.
    ///   - answer: The button: `allow` or `refuse`.
    /// - Returns: The app's answer to the redirect.
    /// - Throws: ``Unusable`` when the page cannot be used, or does not lead to the app.
    func logIn(on page: URL, as user: String, password: String, answer: String = "allow") async throws -> String {
        let (html, head) = try await session.data(from: page)
        guard head.statusCode == 200 else { throw Unusable(status: head.statusCode) }
        let hidden = String(decoding: html, as: UTF8.self).matches(of: /type=hidden name=([a-z_]+) value="([^"]*)"/)
        var form = hidden.map { QueryParameter(String($0.output.1), .string(String($0.output.2))) }
        form += [QueryParameter("user", .string(user)), QueryParameter("password", .string(password))]
        form.append(QueryParameter("answer", .string(answer)))
        var builder = RequestBuilder(url: page, method: .post)
        builder.body = FormBody(.dictionary(form))
        let (request, body) = try builder.build()
        let (_, redirect) = try await session.upload(for: request, body: body)
        guard redirect.statusCode == 303, let location = redirect.value(forHTTPHeaderField: "Location"), let url = URL(string: location)
        else { throw Unusable(status: redirect.statusCode) }
        return String(decoding: try await session.data(from: url).0, as: UTF8.self)
    }
}

extension Browser {
    /// The status that a request gets.
    func status(of request: URLRequest) async throws -> Int { try await session.data(for: request).1.statusCode }
}
