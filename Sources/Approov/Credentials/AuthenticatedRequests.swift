@_spi(Internals) public import ApproovBase
public import CertificatePinning
import Foundation
public import FoundationNetworking
package import HTTPClient
package import HTTPTypes
import Synchronization

/// Authenticates the requests to some hosts, and renews the credential once when a server refuses it.
///
/// ```swift
/// let session = try ApproovSession(
///     service: service,
///     interceptors: [AuthenticatedRequests(source: source, hosts: [HostPattern("api.example.com")])])
/// ```
///
/// Only requests over https to the named hosts get the credential. A request that sets the header itself keeps its own. After a redirect to
/// another origin, the session drops the credential, even if the redirect leads to a named host, because the URL came from a server.
///
/// **Renewal:** when a server refuses the credential, all requests that carried it wait for one renewal, and each is sent once more. A
/// request is not sent again when:
///
/// - its body is a stream, or a redirect led it to another origin;
/// - the response has status 407, because a proxy refused the request;
/// - the response says `insufficient_scope`, or asks only for what the session adds itself (the challenges `Approov` and
///   `Approov-Signature`);
/// - it is not idempotent, and the server may have executed it, because the status is not 401 or the response follows a redirect that
///   changed the method, such as 303;
/// - it was sent again for this reason before, the renewal failed, or five renewals began in the last 30 s;
/// - the credential is now another user's, or it is not known whose it was (``Credential/owner``).
///
/// The caller then gets the response. If only the request itself prevents that it is sent again, such as a stream, the renewal begins all
/// the same, for later requests.
///
/// **Users:** if the source reports changes of the user (``CredentialSource/userChanges``), the session tracks its requests, and each
/// change wipes the session.
public final class AuthenticatedRequests: CredentialInterceptor {
    private let source: any CredentialSource
    /// ``source``, if it often knows the credential without waiting.
    private let immediateSource: (any ImmediateCredentialSource)?
    private let hosts: [HostPattern]
    /// The name of the header that carries the credential.
    package let fieldName: HTTPField.Name
    private let renewsOn: @Sendable (HTTPURLResponse) -> Bool
    private let longestRenewal: Duration
    private let time: any TimeSource
    private let window = Mutex(RenewalWindow())
    private let owners = Mutex(CredentialOwners())
    private let renewal: SharedRefresh

    /// Creates the interceptor.
    ///
    /// - Parameters:
    ///   - source: Knows the credential.
    ///   - hosts: The hosts that may see the credential; no other host gets it.
    ///   - header: The name of the header that carries it.
    ///   - renewsOn: Whether a response refuses the credential; must not block.
    ///   - longestRenewal: How long one renewal may take. Then it is cancelled, and the requests that wait for it get the response that
    ///     refused them. The next refusal begins another renewal, even if the source ignores the cancellation and the first one still runs.
    ///   - clock: The clock.
    /// - Throws: ``ApproovError`` with code `initializationError` when no host is named, or the name of the header is malformed.
    public init(
        source: any CredentialSource, hosts: [HostPattern], header: String = "Authorization",
        renewsOn: @escaping @Sendable (HTTPURLResponse) -> Bool = { $0.statusCode == 401 }, longestRenewal: Duration = .seconds(30),
        clock: any TimeSource = SystemTimeSource()
    ) throws {
        self.source = source
        immediateSource = source as? any ImmediateCredentialSource
        self.hosts = try SessionCredential.checked(hosts)
        fieldName = try SessionCredential.name(header)
        self.renewsOn = renewsOn
        self.longestRenewal = longestRenewal
        time = clock
        renewal = SharedRefresh(interval: .zero, time: clock)
    }

    /// The name of the header that carries the credential.
    public var secretHeaders: Set<String> { [fieldName.rawName] }

    /// The user of the source.
    public var userScope: UserScope? { source.userChanges.map { UserScope($0, hosts: hosts) } }

    /// Returns the request with the credential if its host is named and it has none.
    ///
    /// - Throws: ``ApproovError`` with code `credentialRefused` for plain http to a named host; the source's errors.
    public func adapt(_ request: URLRequest) async throws -> URLRequest {
        let url = try TransportURL(of: request)
        guard !hasOwn(request), let value = try await fieldValue(for: url) else { return request }
        var request = request
        var headers = request.allHTTPHeaderFields ?? [:]
        headers[fieldName.rawName] = value
        request.allHTTPHeaderFields = headers
        return request
    }

    /// Returns the credential for a request without one; nil if its host is not named.
    ///
    /// - Throws: What ``adapt(_:)`` throws.
    package func fieldValue(for url: TransportURL) async throws -> String? {
        guard try mayCarryCredential(url) else { return nil }
        return noted(try await source.credential())
    }

    /// Does the same without waiting, if the source knows the credential.
    ///
    /// - Throws: What ``adapt(_:)`` throws.
    package func fieldValueAtOnce(for url: TransportURL) throws -> ImmediateFieldValue {
        guard try mayCarryCredential(url) else { return .known(nil) }
        guard let credential = try immediateSource?.credentialAtOnce() else { return .awaited }
        return .known(noted(credential))
    }

    /// Whether a request to the URL gets the credential.
    ///
    /// - Throws: ``ApproovError`` with code `credentialRefused` for plain http to a named host.
    private func mayCarryCredential(_ url: TransportURL) throws -> Bool {
        guard isMeant(url) else { return false }
        guard url.isSecure else {
            throw ApproovError(
                .credentialRefused, "\(url.host) would get the credential over plain http, where others can read it: use https")
        }
        return true
    }

    /// Notes that a request carries a credential, and returns the header's value.
    private func noted(_ credential: Credential) -> String {
        owners.withLock { $0.note(credential) }
        return credential.headerValue
    }

    /// Whether a response refuses the credential of the first attempt.
    package func isRefused(_ exchange: RequestExchange) -> Bool {
        // A validator may have refused the response, too.
        guard let response = exchange.outcome.head, exchange.ownRetries == 0, !exchange.hasLeftOrigin else { return false }
        return response.statusCode != 407 && renewsOn(response)
    }

    /// Renews the credential if the server refused it, and decides whether to send the request again.
    public func retry(_ exchange: RequestExchange) async -> RetryDecision {
        isRefused(exchange) ? await retryRefused(exchange) : .doNotRetry
    }

    /// Renews the refused credential, and decides whether to send the request again.
    package func retryRefused(_ exchange: RequestExchange) async -> RetryDecision {
        guard let refused = refusedValue(of: exchange) else { return .doNotRetry }
        guard exchange.outcome.head?.statusCode == 401 && !exchange.isAfterExecution || exchange.isIdempotent else {
            beginRenewal(of: refused)
            return .doNotRetry
        }
        // One renewal at a time. The one under way may be of another credential, such as the last user's: then this one's comes after it.
        var isLast = false
        while true {
            let successor = await successor(of: refused)
            if successor == .sameUsers { return .retry }
            if isLast || Task.isCancelled { return .doNotRetry }
            let renewed = await renewal.run(for: refused) { [self] in await renew(refused) }
            // A credential that is not in use any more is not renewed, but the renewal under way may just have replaced it.
            isLast = renewed == refused || successor != nil
        }
    }

    /// Begins to renew the refused credential for later requests.
    package func renewRefused(_ exchange: RequestExchange) {
        if let refused = refusedValue(of: exchange) { beginRenewal(of: refused) }
    }

    private func beginRenewal(of refused: String) {
        // Not a child task, and without the marks of the work that this request is part of: nothing waits for it. Its length is limited.
        Task { [self] in
            await WorkMarks.$current.withValue(nil) { _ = await renewal.run(for: refused) { [self] in await renew(refused) } }
        }
    }

    /// The credential that a server refused; nil if the request did not carry the source's, or if another one would not help.
    private func refusedValue(of exchange: RequestExchange) -> String? {
        guard let response = exchange.outcome.head, !hasOwn(exchange.request), let sent = exchange.sent,
            let url = try? TransportURL(of: sent), isMeant(url), let refused = sent.value(forHTTPHeaderField: fieldName.rawName)
        else { return nil }
        let challenges = AuthenticationChallenges(response)
        return challenges.isScopeInsufficient || challenges.concernAttestationAlone ? nil : refused
    }

    /// The credential that requests get instead of a refused one.
    private enum Successor {
        case sameUsers
        /// Another user's, or it is not known whose.
        case others
    }

    /// Returns whose credential requests now get instead of this one; nil if they still get this one, or none.
    private func successor(of refused: String) async -> Successor? {
        // The credential may have been renewed since the request was sent, but also be another user's.
        guard !Task.isCancelled, let current = try? await source.credential(), current.headerValue != refused else { return nil }
        return owners.withLock { $0.isSame(current, asOf: refused) } ? .sameUsers : .others
    }

    private func renew(_ refused: String) async {
        // An unstructured task: requests must not wait for a source that ignores its cancellation.
        let work = Task { [self] in
            guard let current = try? await source.credential(), current.headerValue == refused else { return }
            guard window.withLock({ $0.admits(at: time.uptime) }) else { return }
            guard let renewed = try? await source.renew(after: current) else { return }
            owners.withLock { $0.note(renewed, inPlaceOf: current) }
        }
        await time.withTimeout(longestRenewal) { await work.waitForEnd() }
        work.cancel()
    }

    private func isMeant(_ url: TransportURL) -> Bool { hosts.contains { $0.matches(url.host) } }

    private func hasOwn(_ request: URLRequest) -> Bool {
        request.allHTTPHeaderFields?.keys.contains { HTTPField.Name($0) == fieldName } ?? false
    }
}
