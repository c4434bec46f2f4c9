import ApproovBase
import Attestation
public import Foundation
import HTTPTypes

/// The result of a token fetch.
///
/// All copies share one object, because every request with a cached token copies the result several times.
public struct TokenFetchResult: Sendable {
    /// The values of a result.
    private struct Content: Sendable {
        var status: TokenFetchStatus
        var token: String
        var field: HTTPField?
        var traceField: HTTPField?
        let arc: String
        let rejectionReasons: [String]
        let traceID: String
        var isConfigChanged: Bool
        let error: ApproovError?
        var host: String?
        var date: Date?
        let life: TokenLife?
        var customToken: String?
        let isGenuine: Bool
        var accountKey: MessageSigningKey?
    }

    /// Holds the values; never changes.
    private final class Box: Sendable {
        let content: Content

        init(_ content: Content) {
            self.content = content
        }
    }

    private let box: Box

    /// How the fetch ended.
    public var status: TokenFetchStatus { box.content.status }
    /// The token; empty unless the status is `success` or `rejected`.
    ///
    /// Do not log it; log ``loggableToken`` instead.
    public var token: String { box.content.token }
    /// The token as the value of a header field, whose name does not matter; nil without a token.
    ///
    /// Made once, because HTTPTypes checks each byte of a value.
    var field: HTTPField? { box.content.field }
    /// The trace ID as the value of a header field, whose name does not matter; nil without a token.
    var traceField: HTTPField? { box.content.traceField }
    /// The attestation response code, from which only the account's operator can tell why an attestation failed.
    ///
    /// Empty without a token.
    public var arc: String { box.content.arc }
    /// Why the attestation failed; empty unless the account's policy tells the app.
    public var rejectionReasons: [String] { box.content.rejectionReasons }
    /// Identifies the attestation in the authority's log.
    ///
    /// Empty without a token.
    public var traceID: String { box.content.traceID }
    /// Whether this fetch put a new configuration in force.
    public var isConfigChanged: Bool { box.content.isConfigChanged }
    /// What went wrong; nil when there is a token.
    public var error: ApproovError? { box.content.error }
    /// The host that the token was asked for; nil when the authority was not asked.
    public var host: String? { box.content.host }
    /// When the authority answered, or failed to, by the service's clock; nil when it was not asked.
    public var date: Date? { box.content.date }
    /// When the token's life began and how long it is; nil without a token.
    var life: TokenLife? { box.content.life }
    /// The custom JWT; nil unless one was asked for and the app is genuine.
    var customToken: String? { box.content.customToken }
    /// Whether the authority sent secure strings, possibly none, which it does for genuine apps alone; false without a result.
    var isGenuine: Bool { box.content.isGenuine }
    /// The account's message-signing key that the token names; nil if the authority sent none.
    ///
    /// It stays in memory.
    var accountKey: MessageSigningKey? { box.content.accountKey }

    private init(_ content: Content) {
        box = Box(content)
    }

    init(
        status: TokenFetchStatus, token: String = "", arc: String = "", rejectionReasons: [String] = [], traceID: String = "",
        isConfigChanged: Bool = false, error: ApproovError? = nil, life: TokenLife? = nil, isGenuine: Bool = false
    ) {
        self.init(
            Content(
                status: status, token: token, arc: arc, rejectionReasons: rejectionReasons, traceID: traceID,
                isConfigChanged: isConfigChanged, error: error, life: life, isGenuine: isGenuine))
    }

    init(_ result: AttestationResult, isConfigChanged: Bool, life: TokenLife) {
        let reasons = result.rejectionReasons ?? []
        self.init(
            Content(
                status: reasons.isEmpty ? .success : .rejected, token: result.token,
                field: HTTPField(name: .authorization, value: result.token),
                traceField: HTTPField(name: .authorization, value: result.traceID), arc: result.arc, rejectionReasons: reasons,
                traceID: result.traceID, isConfigChanged: isConfigChanged, error: nil, life: life, customToken: result.customToken,
                isGenuine: result.secureStrings != nil, accountKey: result.messageSigningKey))
    }

    init(_ failure: AuthorityFailure) {
        self.init(status: failure.status, error: failure.error)
    }

    /// Returns a copy with other values.
    private func changed(_ change: (inout Content) -> Void) -> TokenFetchResult {
        var content = box.content
        change(&content)
        return TokenFetchResult(content)
    }

    /// A copy with `isConfigChanged` cleared, for cache hits.
    var settled: TokenFetchResult { changed { $0.isConfigChanged = false } }

    /// A copy with the status `rejected` instead of `success`, for a caller who learns that the app is not genuine.
    var rejected: TokenFetchResult { status == .success ? with(.rejected) : self }

    /// A copy that ends with another status.
    func with(_ status: TokenFetchStatus) -> TokenFetchResult { changed { $0.status = status } }

    /// A copy with the custom JWT in place of the token.
    var withCustomToken: TokenFetchResult {
        changed { content in
            content.token = content.customToken ?? ""
            content.field = nil
        }
    }

    /// A copy without the token and the account's key, to be kept after the token was used or forgotten.
    var withoutToken: TokenFetchResult {
        changed { content in
            content.token = ""
            content.field = nil
            content.traceField = nil
            content.customToken = nil
            content.accountKey = nil
        }
    }

    /// A copy that says which host the token was asked for, and when.
    func asked(for host: String, at date: Date) -> TokenFetchResult {
        changed { ($0.host, $0.date) = (host, date) }
    }

    /// The token's claims as JSON, safe to log.
    ///
    /// In place of the signature it has the member `sip` with the signature's first six characters: enough to find the token again, too
    /// little to use it. Without a token it names the status.
    public var loggableToken: String {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])),
            let claims = try? JSONValue(reading: payload, limit: 8_192).object()
        else {
            let fallback = JSONValue.object(["status": .string(status.rawValue)])
            return String(decoding: fallback.serialized(), as: UTF8.self)
        }
        let loggable = JSONValue.object(claims.merging(["sip": .string(String(parts[2].prefix(6)))]) { $1 })
        return String(decoding: loggable.serialized(), as: UTF8.self)
    }
}

extension TokenFetchResult: CustomStringConvertible, CustomReflectable {
    /// The status, ``loggableToken`` and the error; never the token itself.
    public var description: String {
        "TokenFetchResult(\(status.rawValue), token: \(loggableToken)\(error.map { ", \($0)" } ?? ""))"
    }

    /// An empty mirror, so that `dump` does not show the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
