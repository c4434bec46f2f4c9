import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes

@testable import OAuth2

/// Values that most tests need.
enum Samples {
    static func url(_ text: String) -> URL { URL(string: text) ?? URL(filePath: "/") }

    static func server(scope: String? = nil, issuer: String? = nil, alwaysSendsIssuer: Bool = false) throws -> OAuth2Server {
        try OAuth2Server(
            tokenURL: url("https://login.test/token"), authorizationURL: url("https://login.test/authorize"),
            deviceAuthorizationURL: url("https://login.test/device"), revocationURL: url("https://login.test/revoke"), scope: scope,
            issuer: issuer, alwaysSendsIssuer: alwaysSendsIssuer)
    }

    static func client(
        secret: String? = "s3cret", server: OAuth2Server? = nil, authentication: OAuth2Client.Authentication? = nil
    ) throws -> OAuth2Client {
        try OAuth2Client(
            id: "app", secret: secret.map { ClientSecret($0) }, server: server ?? Samples.server(), authentication: authentication)
    }

    static func key(_ account: String = "", level: Authorization.Level = .user) throws -> TokenKey {
        TokenKey(client: try client(), authorization: Authorization(level: level), account: account)
    }

    static func token(
        _ name: String = "a0", refresh: String? = "r0", life: TimeInterval = 3_600, at date: Date = Date()
    ) throws -> BearerToken {
        // Whole seconds, so that a record of it is equal to it.
        let date = Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded())
        return try BearerToken(accessToken: name, refreshToken: refresh, issuedAt: date, expiresAt: date + life)
    }

    /// Endpoints whose server is a closure.
    static func endpoints(
        client: OAuth2Client? = nil, clock: ManualClock = ManualClock(), over transport: InProcessTransport
    ) throws -> OAuth2Endpoints {
        try OAuth2Endpoints(client: try client ?? Samples.client(), transport: transport, clock: clock)
    }
}

extension TransportResponse {
    /// An answer in JSON.
    static func json(_ text: String, _ status: Int = 200, to request: TransportRequest) -> TransportResponse {
        TransportResponse(
            status: status, headerFields: [.contentType: "application/json;charset=UTF-8"], url: request.url,
            body: ResponseBody(bytes: Array(text.utf8)))
    }
}

extension TransportRequest {
    /// The parameters of a form.
    var form: [String: String] {
        guard case .bytes(let bytes) = body, let pairs = FormText.decode(String(decoding: bytes, as: UTF8.self), limit: 64) else {
            return [:]
        }
        return Dictionary(pairs.map { ($0.name, $0.value) }) { $0 + " and " + $1 }
    }
}
