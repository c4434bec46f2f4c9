import ApproovBase
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// Calls the caller's policy and checks what it returns.
final class PolicyHooks: Sendable {
    let policy: any AttestationPolicy
    let names: TokenHeaderNames

    init(policy: any AttestationPolicy, names: TokenHeaderNames) {
        self.policy = policy
        self.names = names
    }

    /// Asks whether a request gets a token.
    ///
    /// - Throws: ``ApproovError`` or `CancellationError` of the policy; ``ApproovError`` with code `interceptorError` for its other errors.
    func shouldAttest(_ request: URLRequest) async throws -> Bool {
        try await calling { try await policy.shouldAttest(request) }
    }

    /// Asks what becomes of a request.
    ///
    /// - Throws: As ``shouldAttest(_:)``.
    func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision {
        try await calling { try await policy.decide(result, for: request) }
    }

    /// Asks what becomes of a request with a placeholder.
    ///
    /// - Throws: As ``shouldAttest(_:)``.
    func decide(_ result: TokenFetchResult, forSecureString key: String, in request: URLRequest) async throws -> TokenDecision {
        try await calling { try await policy.decide(result, forSecureString: key, in: request) }
    }

    /// Shows a prepared request to the policy, which may change it.
    ///
    /// - Parameters:
    ///   - request: The request; on return, the policy's.
    ///   - fields: The header fields to send; on return, the policy's.
    ///   - url: The request's URL; on return, the policy's.
    ///   - substitutes: What will take the place of placeholders, of which the policy sees the names of the places.
    /// - Returns: Whether the policy replaced the body.
    /// - Throws: As ``shouldAttest(_:)``; ``ApproovError`` with code `interceptorError` when the policy changed what it must not change, and
    ///   `badRequest` when the request cannot be sent.
    func didPrepare(
        _ request: inout URLRequest, _ fields: inout HTTPFields, _ url: inout TransportURL, _ substitutes: Substitutes = Substitutes()
    ) async throws -> Bool {
        let before = request.carrying(fields)
        let changes = RequestChanges(
            tokenHeader: fields.scan(for: names.token) ? names.token.rawName : nil,
            traceIDHeader: names.traceID.flatMap { fields.scan(for: $0) ? $0.rawName : nil },
            substitutedHeaders: substitutes.headers, substitutedQueryParameters: substitutes.queryParameters)
        let after = try await calling { try await policy.didPrepare(before, changes: changes) }
        if after.url != before.url {
            url = try InterceptorStation.checked(after, was: url, after: type(of: policy))
        }
        // Fields that did not change stay as they are: a dictionary cannot hold two lines of one name.
        if after.allHTTPHeaderFields != before.allHTTPHeaderFields {
            let changed = try HTTPFields(after)
            for name in names.all where changed[values: name] != fields[values: name] {
                throw ApproovError(
                    .interceptorError, "\(type(of: policy)) changed \(name), which belongs to the request's token: it must stay")
            }
            fields = changed
        }
        request = after
        return after.httpBody != before.httpBody || after.httpBodyStream !== before.httpBodyStream
    }

    /// Calls the policy, and turns its errors into errors of the SDK.
    private func calling<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw Self.explained(error, of: policy)
        }
    }

    /// Returns the error for the caller: an ``ApproovError`` or a `CancellationError` of the policy as it is, and any other as a cause.
    ///
    /// - Parameters:
    ///   - error: What the policy threw.
    ///   - policy: The policy.
    /// - Returns: The error.
    static func explained(_ error: any Error, of policy: any AttestationPolicy) -> any Error {
        guard !(error is CancellationError), !(error is ApproovError) else { return error }
        return ApproovError(.interceptorError, "\(type(of: policy)) threw instead of returning a decision: see the cause", cause: error)
    }
}
