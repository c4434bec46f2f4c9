internal import Approov
internal import ApproovBase
internal import Foundation

extension OAuth2Endpoints {
    /// The longest life of a device code that counts, in seconds.
    private static let longestDeviceLifetime: Int64 = 3_600
    /// The pause up to which lost requests double it.
    private static let longestDoubled: Duration = .seconds(300)
    /// The pause between two polls, if the server names none (RFC 8628, section 3.2).
    private static let standardInterval: Duration = .seconds(5)
    /// What `slow_down` adds to the pause (RFC 8628, section 3.5).
    private static let slowDownStep: Duration = .seconds(5)

    /// Asks for a device code, for an app that has no browser (RFC 8628, section 3.1).
    ///
    /// Show the user the page and the code, then call ``token(for:additionalParameters:)``.
    /// - Parameter scope: The scope to ask for; nil for that of the server.
    /// - Returns: What to show to the user.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when the server has no endpoint for it or the scope is malformed; the errors
    ///   of ``issue(_:)``.
    public func authorizeDevice(scope: String? = nil) async throws -> DeviceAuthorization {
        guard let url = client.server.deviceAuthorizationURL else {
            throw OAuth2Error(.configurationError, "the server has no device authorization endpoint; give OAuth2Server its URL")
        }
        let members = try await caller.post(url, try withScope(scope ?? client.server.scope, []))
        func text(_ name: String, limit: Int) throws -> String {
            guard case .string(let text)? = members[name], OAuth2Text.isVisible(text, limit: limit) else {
                throw Self.malformed("its \(name) is missing or malformed")
            }
            return text
        }
        func page(_ name: String) throws -> URL {
            guard let url = URL(string: try text(name, limit: 2_048)), ["http", "https"].contains(url.scheme?.lowercased()),
                url.host() != nil
            else { throw Self.malformed("its \(name) is not a web page") }
            return url
        }
        guard case .integer(let lifetime)? = members["expires_in"], lifetime > 0 else {
            throw Self.malformed("its expires_in is missing or not positive")
        }
        let interval: Duration
        switch members["interval"] {
        case nil, .null?: interval = Self.standardInterval
        case .integer(let seconds)? where seconds >= 0: interval = .seconds(max(1, seconds))
        default: throw Self.malformed("its interval is not a whole number of seconds")
        }
        let life = Duration.seconds(min(lifetime, Self.longestDeviceLifetime))
        return DeviceAuthorization(
            deviceCode: try text("device_code", limit: 4_096), userCode: try text("user_code", limit: 256),
            verificationURI: try page("verification_uri"),
            verificationURIComplete: [nil, .null].contains(members["verification_uri_complete"])
                ? nil : try page("verification_uri_complete"),
            lifetime: life, interval: interval, deadline: clock.uptime + life)
    }

    /// Asks the server for the token until the user has answered (RFC 8628, section 3.5).
    ///
    /// Between two requests it waits for the interval that the server named. The interval grows by five seconds after each `slow_down`. The
    /// wait doubles, up to five minutes, after each request that did not reach the server or that an overloaded server did not answer, until
    /// the server answers again. A doubled wait ends early enough for another request before the codes expire. No wait is shorter than
    /// the server asks for with `Retry-After`, up to five minutes.
    /// - Parameters:
    ///   - authorization: The result of ``authorizeDevice(scope:)``.
    ///   - additionalParameters: Further parameters that the server wants; see ``DeviceCodeGrant/additionalParameters``.
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` with code `authorizationRefused` when the user refused, with code `timedOut` when the codes expired, and the
    ///   errors of ``issue(_:)``; `CancellationError`.
    public func token(
        for authorization: DeviceAuthorization, additionalParameters: [(name: String, value: String)] = []
    ) async throws -> BearerToken {
        var interval = authorization.interval
        // Why the last request was lost, the pause that this calls for, and the one that the server asked for.
        var lost: OAuth2Error?
        var (backoff, asked) = (Duration.zero, Duration.zero)
        while true {
            // A backoff beyond the end would give up while the user can still answer.
            let pause = max(interval, min(backoff, authorization.deadline - clock.uptime - interval), asked)
            guard clock.uptime + pause < authorization.deadline else { throw Self.deviceExpired(lost) }
            try await clock.sleep(for: pause)
            do {
                return try await issue(DeviceCodeGrant(authorization, additionalParameters: additionalParameters))
            } catch let error as OAuth2Error where error.code == .requestRefused {
                (lost, backoff, asked) = (nil, .zero, .zero)
                switch error.serverError {
                case .authorizationPending: continue
                case .slowDown: interval += Self.slowDownStep
                case .expiredToken: throw Self.deviceExpired(error)
                case .accessDenied:
                    throw OAuth2Error(
                        .authorizationRefused, "the user refused to authorize the app", serverError: .accessDenied, status: error.status)
                default: throw error
                }
            } catch let error as OAuth2Error where error.isPassing {
                lost = error
                backoff = min(max(interval, backoff) * 2, Self.longestDoubled)
                asked = min(error.retryAfter ?? .zero, Self.longestDoubled)
            }
        }
    }

    private static func malformed(_ flaw: String) -> OAuth2Error {
        OAuth2Error(
            .responseMalformed, "the device authorization endpoint's response cannot be used: \(flaw)", serverError: nil, status: 200)
    }

    private static func deviceExpired(_ cause: OAuth2Error?) -> OAuth2Error {
        OAuth2Error(
            .timedOut, "the user did not authorize the app before the code expired; ask for a new code", serverError: cause?.serverError,
            status: cause?.status, cause: cause)
    }
}
