import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// A request on its way through the stations: the caller's, with what the stations have added so far.
struct RequestDraft: Sendable {
    /// The wrapped session's additional headers in a draft.
    struct Defaults: Sendable {
        /// The fields that the request had before.
        let own: HTTPFields
        /// The additional headers; without those that an interceptor replaced.
        var fields: HTTPFields
    }

    /// The request of the caller, or as the last interceptor left it that may change anything.
    ///
    /// Without what the session and the interceptors added since, and without what stations 4 to 6 add.
    var request: URLRequest
    var url: TransportURL
    var body: RequestBody
    /// The header fields to send.
    var fields: HTTPFields
    /// What an addition of an interceptor may replace; nil for a session without additional headers.
    var defaults: Defaults?
    /// The method; valid from the end of station 3 on.
    var method = HTTPRequest.Method.get
    /// The longest time without any progress; valid from the end of station 3 on.
    var idleTimeout: Duration = .zero
    /// The idle timeout that an interceptor gave a request without one; nil if none did.
    var addedTimeout: Duration?
    /// Whether a header of an interceptor is missing, because a redirect led to another origin.
    var hasLostCredential = false
    /// What station 4 did.
    var token = TokenOutcome.notAttested
    /// What takes the place of placeholders when the request is sent; empty without station 5.
    var substitutes = Substitutes()
    /// The length of the file whose digest station 6 signed; nil without one.
    var signedFileLength: Int?

    /// Begins a draft.
    ///
    /// - Parameters:
    ///   - request: The request without stations 4 to 6.
    ///   - url: Its URL.
    ///   - body: Its body.
    ///   - fields: The header fields to send.
    init(request: URLRequest, url: TransportURL, body: RequestBody, fields: HTTPFields) {
        self.request = request
        self.url = url
        self.body = body
        self.fields = fields
    }

    /// ``request`` with the timeout that an interceptor added.
    var timedRequest: URLRequest {
        guard let addedTimeout else { return request }
        var timed = request
        timed.timeoutInterval = addedTimeout / .seconds(1)
        return timed
    }

    /// The request with all that the session and the interceptors added.
    var current: URLRequest {
        // What was added comes after the fields of the request itself.
        fields.count > request.allHTTPHeaderFields?.count ?? 0 ? timedRequest.carrying(fields) : timedRequest
    }

    /// Notes the timeout of a request that the app's code got with the added one.
    mutating func noteTimeout(of changed: URLRequest) {
        if let addedTimeout, changed.timeoutInterval != addedTimeout / .seconds(1) { self.addedTimeout = nil }
    }

    /// Adds a field of an interceptor unless the request has one; a field that only the session's additional headers added is replaced.
    ///
    /// - Throws: ``ApproovError`` with code `badRequest`, which names the field, when its name or value is not allowed in a header.
    mutating func add(_ name: String, _ value: String) throws {
        if defaults != nil, let parsed = HTTPField.Name(name), isDefault(parsed) {
            fields.removeAll { $0.name == parsed }
            // Another interceptor's addition must not replace this one.
            defaults?.fields.removeAll { $0.name == parsed }
            // An interceptor before this one may have put the session's fields into the request.
            if request.value(forHTTPHeaderField: name) != nil { request.setValue(nil, forHTTPHeaderField: name) }
        }
        try fields.appendMissing(name, value)
    }

    /// Whether what the draft has under a name comes from the session's additional headers alone.
    private func isDefault(_ name: HTTPField.Name) -> Bool {
        guard let defaults, !defaults.own.scan(for: name), let value = defaults.fields.scanJoinedValue(of: name) else { return false }
        return fields.scanJoinedValue(of: name) == value
    }

    /// Takes a request in place of ``current``.
    ///
    /// - Parameter changed: The request, whose URL was checked.
    /// - Throws: ``ApproovError`` with code `badRequest` when a header is malformed.
    mutating func adopt(_ changed: URLRequest) throws {
        if changed.httpBody != request.httpBody || changed.httpBodyStream !== request.httpBodyStream { body = RequestBody(of: changed) }
        request = changed
        noteTimeout(of: changed)
        fields = try HTTPFields(changed)
    }

    /// Makes the request for the transport.
    ///
    /// - Parameters:
    ///   - hop: The rules for the request's host.
    ///   - deadline: The end of the time for the request.
    ///   - observation: The limits and observers of the transfer.
    ///   - group: The session's transfers.
    ///   - proxy: The proxy to use; nil for none.
    ///   - refusesPrivateAddresses: Whether to refuse connections to addresses that are not public.
    /// - Returns: The request.
    /// - Throws: ``ApproovError`` with code `timedOut` when the time is over.
    func transportRequest(
        under hop: ResolvedHop, by deadline: RequestDeadline, _ observation: RequestObservation, group: TransferGroup,
        proxy: ProxyConfiguration?, refusesPrivateAddresses: Bool
    ) throws -> TransportRequest {
        var request = TransportRequest(url: url, method: method, headerFields: fields, body: body, policy: hop.policy.trust)
        request.options.idleTimeout = idleTimeout
        request.options.connectTimeout = min(request.options.connectTimeout, idleTimeout)
        request.options.proxy = proxy
        request.options.totalTimeout = try deadline.remaining
        request.options.maximumBodyBytes = observation.bodyLimit
        request.options.rules = hop.policy
        request.options.fileLength = signedFileLength
        request.options.refusesPrivateAddresses = refusesPrivateAddresses
        request.options.onUpload = observation.onUpload
        request.options.onDownload = observation.onDownload
        if let call = observation.call { request.options.onTimings = call.onTimings }
        request.options.group = group
        request.options.control = observation.control
        if case .stream = body { request.options.canBeMadeAgain = false }
        request.options.cancellation = observation.cancellation
        return request
    }
}

extension URLRequest {
    /// Returns the request with these header fields in place of its present ones; lines of one name become one, separated by commas.
    func carrying(_ fields: HTTPFields) -> URLRequest {
        var headers: [String: String] = [:]
        for field in fields {
            let name = field.name.rawName
            headers[name] = headers[name].map { "\($0), \(field.value)" } ?? field.value
        }
        var request = self
        request.allHTTPHeaderFields = headers
        return request
    }
}
