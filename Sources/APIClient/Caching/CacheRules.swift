internal import Approov
internal import Foundation
internal import FoundationNetworking
internal import HTTPTypes

/// Which responses a private cache keeps (RFC 9111, section 3), and for how long.
enum CacheRules {
    /// How a request may use the cache.
    enum Use: Sendable {
        case normal
        /// The response must come from the server; the cache may keep it.
        case reload
        /// Neither read nor kept.
        case none
    }

    /// How a request may use the cache, as the Cache-Control that the app, the session and its interceptors set and its cache policy say.
    static func use(of request: CacheableRequest) -> Use {
        if forbidsStorage(request.control) { return .none }
        let names = FreshnessLifetime.directives(request.control).map(\.name)
        // The control fields are Cache-Control and Pragma.
        let isOld = !request.control.contains(.cacheControl) && !request.control.isEmpty
        // A request that limits the age of a response gets a new one.
        if isOld || names.contains(where: ["no-cache", "max-age", "min-fresh"].contains) { return .reload }
        switch request.cachePolicy {
        case .useProtocolCachePolicy, .returnCacheDataElseLoad: return .normal
        default: return .reload
        }
    }

    /// Whether a request's header fields forbid to keep its response.
    private static func forbidsStorage(_ control: HTTPFields) -> Bool {
        FreshnessLifetime.directives(control).contains { $0.name == "no-store" }
    }

    /// How long a response may be kept from the beginning of its request on; zero if it must not be.
    ///
    /// - Parameters:
    ///   - head: The response's head.
    ///   - probe: How the request was sent.
    ///   - now: The date when the request began.
    /// - Returns: The lifetime.
    static func lifetime(of head: HTTPURLResponse, _ probe: RequestProbe, now: Date) -> Duration {
        guard head.statusCode == 200, !forbidsStorage(probe.control) else { return .zero }
        var fields = HTTPFields()
        for (name, value) in head.allHeaderFields {
            guard let name = HTTPField.Name("\(name)") else { return .zero }
            fields.append(HTTPField(name: name, value: "\(value)"))
        }
        let varying = fields[values: .vary].flatMap { $0.split(separator: ",") }.map { $0.trimmingCharacters(in: .whitespaces) }
        for name in varying where !name.isEmpty {
            // "*" is no name. A header that is added after the form was made, such as a token, is not part of the key.
            guard name != "*", let name = HTTPField.Name(name), name != .cacheControl, name.canonicalName != "pragma", probe.hasKept(name)
            else { return .zero }
        }
        return FreshnessLifetime.remaining(fields, now: now, countsDate: true)
    }

    /// Returns the head to keep: without cookies, which only the storage of cookies may hold; nil if Foundation cannot represent it.
    static func kept(_ head: HTTPURLResponse) -> HTTPURLResponse? {
        var headers: [String: String] = [:]
        for (name, value) in head.allHeaderFields { headers["\(name)"] = "\(value)" }
        let cookies = headers.keys.filter { $0.lowercased().hasPrefix("set-cookie") }
        guard !cookies.isEmpty else { return head }
        for name in cookies { headers[name] = nil }
        guard let url = head.url else { return nil }
        return HTTPURLResponse(url: url, statusCode: head.statusCode, httpVersion: nil, headerFields: headers)
    }

    /// What an entry counts against the capacity: its content, its head, and an estimate of the rest.
    static func size(of data: Data, _ head: HTTPURLResponse) -> Int {
        let fields = head.allHeaderFields.reduce(0) { $0 + "\($1.key)".utf8.count + "\($1.value)".utf8.count + 64 }
        return data.count + fields + 2 * (head.url?.absoluteString.utf8.count ?? 0) + 1_024
    }
}
