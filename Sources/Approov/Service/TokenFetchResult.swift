import ApproovBase
import Attestation
public import Foundation
import HTTPTypes

/// The result of a token fetch.
public struct TokenFetchResult: Sendable {
    /// How the fetch ended.
    public private(set) var status: TokenFetchStatus
    /// The token; empty unless the status is `success` or `rejected`.
    ///
    /// Do not log it; log ``loggableToken`` instead.
    public private(set) var token: String
    /// The token as the value of a header field, whose name does not matter; nil without a token.
    ///
    /// Made once, because HTTPTypes checks each byte of a value.
    private(set) var field: HTTPField?
    /// The trace ID as the value of a header field, whose name does not matter; nil without a token.
    private(set) var traceField: HTTPField?
    /// The attestation response code, from which only the account's operator can tell why an attestation failed.
    ///
    /// Empty without a token.
    public let arc: String
    /// Why the attestation failed; empty unless the account's policy tells the app.
    public let rejectionReasons: [String]
    /// Identifies the attestation in the authority's log.
    ///
    /// Empty without a token.
    public let traceID: String
    /// Whether this fetch put a new configuration in force.
    public private(set) var isConfigChanged: Bool
    /// What went wrong; nil when there is a token.
    public let error: ApproovError?
    /// The host that the token was asked for; nil when the authority was not asked.
    public private(set) var host: String?
    /// When the authority answered, or failed to, by the service's clock; nil when it was not asked.
    public private(set) var date: Date?
    /// When the token's life began and how long it is; nil without a token.
    let life: TokenLife?
    /// The custom JWT; nil unless one was asked for and the app is genuine.
    private(set) var customToken: String?
    /// Whether the authority sent secure strings, possibly none, which it does for genuine apps alone; false also without a result.
    let isGenuine: Bool
    /// The account's message-signing key that the token names; nil if the authority sent none.
    ///
    /// It stays in memory.
    private(set) var accountKey: MessageSigningKey?

    init(
        status: TokenFetchStatus, token: String = "", arc: String = "", rejectionReasons: [String] = [], traceID: String = "",
        isConfigChanged: Bool = false, error: ApproovError? = nil, life: TokenLife? = nil, isGenuine: Bool = false
    ) {
        self.status = status
        self.token = token
        self.arc = arc
        self.rejectionReasons = rejectionReasons
        self.traceID = traceID
        self.isConfigChanged = isConfigChanged
        self.error = error
        self.life = life
        self.isGenuine = isGenuine
    }

    init(_ result: AttestationResult, isConfigChanged: Bool, life: TokenLife) {
        let reasons = result.rejectionReasons ?? []
        self.init(
            status: reasons.isEmpty ? .success : .rejected, token: result.token, arc: result.arc, rejectionReasons: reasons,
            traceID: result.traceID, isConfigChanged: isConfigChanged, life: life,
            isGenuine: result.secureStrings != nil)
        accountKey = result.messageSigningKey
        customToken = result.customToken
        field = HTTPField(name: .authorization, value: token)
        traceField = HTTPField(name: .authorization, value: traceID)
    }

    init(_ failure: AuthorityFailure) {
        self.init(status: failure.status, error: failure.error)
    }

    /// A copy with `isConfigChanged` cleared, for cache hits.
    var settled: TokenFetchResult {
        var copy = self
        copy.isConfigChanged = false
        return copy
    }

    /// A copy with the status `rejected` instead of `success`, for a caller who learns that the app is not genuine.
    var rejected: TokenFetchResult {
        var copy = self
        if status == .success { copy.status = .rejected }
        return copy
    }

    /// A copy that ends with another status.
    func with(_ status: TokenFetchStatus) -> TokenFetchResult {
        var copy = self
        copy.status = status
        return copy
    }

    /// A copy with the custom JWT in place of the token.
    var withCustomToken: TokenFetchResult {
        var copy = self
        copy.token = customToken ?? ""
        copy.field = nil
        return copy
    }

    /// A copy without the token and the account's key, to be kept after the token was used or forgotten.
    var withoutToken: TokenFetchResult {
        var copy = self
        copy.token = ""
        copy.field = nil
        copy.traceField = nil
        copy.customToken = nil
        copy.accountKey = nil
        return copy
    }

    /// A copy that says which host the token was asked for, and when.
    func asked(for host: String, at date: Date) -> TokenFetchResult {
        var copy = self
        (copy.host, copy.date) = (host, date)
        return copy
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
