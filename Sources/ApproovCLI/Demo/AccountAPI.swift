import ApproovTesting
import ApproovTokenCheck
import ApproovTokens
import HTTPTypes
import Hummingbird

/// The demo's API with users: a request needs the app's token, and a user's access token that has not expired.
struct AccountAPI {
    static let account = "/v1/account"
    static let export = "/v1/export"
    /// The number of requests that wait for one refresh.
    static let crowd = 100

    /// What the API has seen, and the gates that make the demo independent of timing.
    struct Record {
        /// The number of requests whose user's token was refused.
        let refusals = Shared(0)
        /// The header fields of the requests whose user is known, in order.
        let served = Shared<[HTTPFields]>([])
        /// Opens when the tokens of a whole crowd were refused.
        let crowdIsRefused = Gate()
        /// Opens when an export has begun.
        let exportBegan = Gate()
        /// The gate at which exports wait before they are answered.
        let exportMayEnd = Gate()
    }

    let server: TestHTTPServer
    let record: Record

    /// Serves `/v1/account` and the slow `/v1/export`, which answer with the user's name and set a cookie with it.
    static func start(
        certificate: TestCertificate, verifier: TokenVerifier, tokens: UserTokens
    ) async throws -> AccountAPI {
        let record = Record()
        let router = Router(context: BasicTokenCheckedRequestContext.self)
        let checked = router.group("v1")
            .add(middleware: try TokenCheckMiddleware(verifier: verifier, bindingHeaders: [ShapesAPI.bindingHeader], pay: .required))
        checked.get("account") { request, _ in try answer(to: request, tokens, record) }
        checked.get("export") { request, _ in
            let response = try answer(to: request, tokens, record)
            record.exportBegan.open()
            try await record.exportMayEnd.wait()
            return response
        }
        let server = try await TestHTTPServer.start(certificate: certificate, responder: router.buildResponder())
        return AccountAPI(server: server, record: record)
    }

    private static func answer(to request: Request, _ tokens: UserTokens, _ record: Record) throws -> EditedResponse<String> {
        guard let user = tokens.user(of: request.headers[.authorization]) else {
            let count = record.refusals.change { count in
                count += 1
                return count
            }
            if count == crowd { record.crowdIsRefused.open() }
            throw HTTPError(.unauthorized, headers: [.wwwAuthenticate: #"Bearer error="invalid_token""#])
        }
        record.served.change { $0.append(request.headers) }
        return EditedResponse(headers: [.setCookie: "user=\(user); Path=/"], response: user)
    }
}
