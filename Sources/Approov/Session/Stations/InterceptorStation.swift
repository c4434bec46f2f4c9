import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// Station 3: the caller's interceptors, in their order.
struct InterceptorStation: Sendable {
    let interceptors: [any RequestInterceptor]
    /// The gate, for interceptors that wait for what is under way; nil for a session without one.
    let gate: RequestGate?
    /// Whether the interceptors wait for credentials at most; ``addAtOnce(to:hasLeftOrigin:_:)`` then comes before
    /// ``adapt(_:by:from:hasLeftOrigin:isSent:_:)``.
    let waitsForCredentialsAtMost: Bool
    /// What each interceptor does, in their order.
    private let kinds: [Kind]

    private enum Kind {
        case leavesRequests
        case adds(any AddingInterceptor)
        case addsCredential(any CredentialInterceptor)
        /// The names of the secret headers that it declares are in lower case.
        case adapts(any RequestInterceptor, secretHeaders: Set<String>)
        case delays(any RequestInterceptor)

        init(_ interceptor: any RequestInterceptor) {
            self =
                switch interceptor {
                case is RetryPolicy: .leavesRequests
                case let adding as any AddingInterceptor: .adds(adding)
                case let credential as any CredentialInterceptor: .addsCredential(credential)
                case is any DelayingInterceptor: .delays(interceptor)
                default: .adapts(interceptor, secretHeaders: Set(interceptor.secretHeaders.map { $0.lowercased() }))
                }
        }
    }

    init(interceptors: [any RequestInterceptor], gate: RequestGate?) {
        self.interceptors = interceptors
        self.gate = gate
        waitsForCredentialsAtMost = interceptors.waitForCredentialsAtMost
        kinds = interceptors.map(Kind.init)
    }

    /// Whether an interceptor delays requests.
    var mayDelay: Bool { interceptors.contains { $0 is any DelayingInterceptor } }

    /// Whether there are no interceptors, so that the station has nothing to do.
    var isEmpty: Bool { interceptors.isEmpty }

    /// Calls the interceptors, which see the caller's request with the session's defaults.
    ///
    /// After a redirect to another origin, what an interceptor did to headers that it declares as secret is undone, because the URL came
    /// from a server. What it does to others is the app's own choice for that URL.
    ///
    /// - Parameters:
    ///   - draft: The request; on return, with the changes of the interceptors.
    ///   - deadline: The end of the time for the request, which also bounds what an interceptor awaits at the gate.
    ///   - start: The index of the first interceptor to call.
    ///   - hasLeftOrigin: Whether a redirect has left the first origin.
    ///   - isSent: Whether the request will be sent; otherwise a cache is asked first, and nothing delays it.
    ///   - call: The call, which must not show secrets that interceptors add; nil if no one watches it.
    /// - Throws: An ``ApproovError`` or `CancellationError` that an interceptor threw; ``ApproovError`` with code `interceptorError` when
    ///   an interceptor threw another error or changed scheme, host or port, and `badRequest` when the request cannot be sent.
    func adapt(
        _ draft: inout RequestDraft, by deadline: RequestDeadline, from start: Int = 0, hasLeftOrigin: Bool, isSent: Bool = true,
        _ call: ObservedCall? = nil
    ) async throws {
        /// What the last interceptors made of the request, which the draft does not have yet.
        var changed: URLRequest?
        for kind in kinds[start...] {
            switch kind {
            case .leavesRequests: continue
            case .delays(let interceptor):
                guard isSent else { continue }
                let request = changed ?? draft.current
                _ = try await deadline.limit { try await passed(request, by: interceptor, deadline) }
            case .adds(let interceptor):
                if let request = changed.take() { try draft.adopt(request) }
                try add(from: interceptor, to: &draft, hasLeftOrigin, call)
            case .addsCredential where hasLeftOrigin:
                draft.hasLostCredential = true
            case .addsCredential(let interceptor):
                if let request = changed.take() { try draft.adopt(request) }
                try await add(from: interceptor, to: &draft, by: deadline)
            case .adapts(let interceptor, let secretHeaders):
                let before = changed ?? draft.current
                var request = try await passed(before, by: interceptor, deadline)
                if request.url != before.url { draft.url = try Self.checked(request, was: draft.url, after: type(of: interceptor)) }
                if hasLeftOrigin, request.restoreHeaders(secretHeaders, from: before.allHTTPHeaderFields ?? [:]) {
                    draft.hasLostCredential = true
                }
                changed = request
            }
        }
        if let changed { try draft.adopt(changed) }
    }

    /// Does the same as ``adapt(_:by:from:hasLeftOrigin:isSent:_:)`` without waiting, up to the first interceptor that must wait.
    ///
    /// - Returns: The index of that interceptor; nil if all have been called.
    func addAtOnce(to draft: inout RequestDraft, hasLeftOrigin: Bool, _ call: ObservedCall? = nil) throws -> Int? {
        for index in kinds.indices {
            switch kinds[index] {
            case .leavesRequests: continue
            case .adds(let interceptor): try add(from: interceptor, to: &draft, hasLeftOrigin, call)
            case .addsCredential where hasLeftOrigin: draft.hasLostCredential = true
            case .addsCredential(let interceptor): guard try addAtOnce(from: interceptor, to: &draft) else { return index }
            case .adapts, .delays: return index
            }
        }
        return nil
    }

    private func add(
        from interceptor: any AddingInterceptor, to draft: inout RequestDraft, _ hasLeftOrigin: Bool, _ call: ObservedCall?
    ) throws {
        guard let url = draft.request.url, let additions = interceptor.additions(for: url) else { return }
        if let call { call.hideSecrets(among: additions.headers.keys) }
        for (name, value) in additions.headers {
            if hasLeftOrigin, ApproovSession.mayBeSecret(name) {
                if HTTPField.Name(name).map({ !draft.fields.scan(for: $0) }) ?? true { draft.hasLostCredential = true }
            } else {
                try draft.add(name, value)
            }
        }
        // 60 s is the default of `URLRequest`, so it means that the caller set no timeout.
        if draft.addedTimeout == nil, draft.request.timeoutInterval == URLRequest.standardTimeout { draft.addedTimeout = additions.timeout }
    }

    /// Has an interceptor adapt a request, in a barrier if it asks for one.
    private func passed(
        _ request: URLRequest, by interceptor: any RequestInterceptor, _ deadline: RequestDeadline
    ) async throws -> URLRequest {
        // In the work of another barrier, nothing is under way.
        guard let gate, interceptor.gateBehavior == .awaitsOutgoing, !gate.isHolder else {
            return try await adapt(request, by: interceptor)
        }
        let outcome: Result<URLRequest, any Error>?
        do {
            outcome = try await deadline.limit {
                try await gate.barrier { () -> Result<URLRequest, any Error>? in
                    // The barrier of another request may have done what this one waited for.
                    guard interceptor.gateBehavior == .awaitsOutgoing else { return nil }
                    do { return .success(try await adapt(request, by: interceptor)) } catch { return .failure(error) }
                }
            }
        } catch let error as ApproovError where error.code == .nestedBarrier {
            // Not the interceptor's own error: the work of another barrier has begun to wait for this request, so nothing is under way.
            outcome = nil
        }
        return if let outcome { try outcome.get() } else { try await adapt(request, by: interceptor) }
    }

    /// Adds a credential if that needs no waiting.
    ///
    /// - Returns: Whether the interceptor is done.
    private func addAtOnce(from interceptor: any CredentialInterceptor, to draft: inout RequestDraft) throws -> Bool {
        let name = interceptor.fieldName
        guard !draft.fields.scan(for: name) else { return true }
        do {
            guard case .known(let value) = try interceptor.fieldValueAtOnce(for: draft.url) else { return false }
            if let value { draft.fields.append(HTTPField(name: name, value: value)) }
            return true
        } catch {
            throw Self.error(of: interceptor, error)
        }
    }

    /// Adds a credential; the wait for it is cancelled when the request's time is over.
    private func add(
        from interceptor: any CredentialInterceptor, to draft: inout RequestDraft, by deadline: RequestDeadline
    ) async throws {
        let name = interceptor.fieldName
        guard !draft.fields.scan(for: name) else { return }
        let value = try await deadline.limit { [url = draft.url] in
            do { return try await interceptor.fieldValue(for: url) } catch { throw Self.error(of: interceptor, error) }
        }
        if let value { draft.fields.append(HTTPField(name: name, value: value)) }
    }

    private func adapt(_ request: URLRequest, by interceptor: any RequestInterceptor) async throws -> URLRequest {
        do { return try await interceptor.adapt(request) } catch { throw Self.error(of: interceptor, error) }
    }

    /// What the caller gets for an error that an interceptor threw.
    private static func error(of interceptor: any RequestInterceptor, _ error: any Error) -> any Error {
        if error is CancellationError || error is ApproovError { return error }
        return ApproovError(.interceptorError, "\(type(of: interceptor)) threw while adapting the request", cause: error)
    }

    /// Returns the URL after the caller's code changed it; the origin must stay the same.
    ///
    /// - Parameters:
    ///   - request: The request with the other URL.
    ///   - url: The URL before.
    ///   - type: The caller's type that changed the URL.
    /// - Returns: The canonical URL.
    /// - Throws: ``ApproovError`` with code `interceptorError` for another origin, and `badRequest` for a URL that cannot be requested.
    static func checked(_ request: URLRequest, was url: TransportURL, after type: Any.Type) throws -> TransportURL {
        let now = try TransportURL(of: request)
        guard now.host == url.host, now.port == url.port, now.isSecure == url.isSecure else {
            throw ApproovError(
                .interceptorError,
                "\(type) changed where the request goes, from \(url.origin) to \(now.origin): "
                    + "scheme, host and port must stay"
            )
        }
        return now
    }
}

extension URLRequest {
    /// Gives some headers the values that they had before, and removes those that the request did not have.
    ///
    /// - Parameters:
    ///   - names: The names of the headers, in lower case.
    ///   - earlier: All headers that the request had before.
    /// - Returns: Whether one of them had another value.
    fileprivate mutating func restoreHeaders(_ names: Set<String>, from earlier: [String: String]) -> Bool {
        guard !names.isEmpty, let headers = allHTTPHeaderFields, headers != earlier else { return false }
        let restored = headers.filter { !names.contains($0.key.lowercased()) }
            .merging(earlier.filter { names.contains($0.key.lowercased()) }) { _, old in old }
        guard restored != headers else { return false }
        allHTTPHeaderFields = restored
        return true
    }
}
