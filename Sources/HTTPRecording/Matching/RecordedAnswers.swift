import HTTPClient
import HTTPTypes

/// The exchanges of a recording, and which of them were used; a value.
struct RecordedAnswers: Sendable {
    private struct Key: Hashable {
        let method: HTTPRequest.Method
        /// Nil when requests of any origin match.
        let origin: String?
        let segments: Int
        let items: Int
    }

    private struct Entry {
        let url: RecordedURL
        let name: String
        let exchange: RecordedExchange
        let conditions: RequestConditions
        var isUsed = false

        /// Whether a request without conditions was answered, or one with conditions got the whole content.
        var isUnconditional: Bool { !conditions.exist || ((200..<300).contains(exchange.status) && exchange.status != 206) }
        /// Whether the response fits no request without the recorded conditions: it has a part of the content, or none.
        var needsConditions: Bool { conditions.exist && RecordedAnswers.conditionalStatuses.contains(exchange.status) }
    }

    /// Partial Content, Not Modified and Range Not Satisfiable (RFC 9110, section 15).
    private static let conditionalStatuses: Set<Int> = [206, 304, 416]

    private let ignoresOrigin: Bool
    private var entries: [Entry] = []
    private var places: [Key: [Int]] = [:]

    init(_ exchanges: [(name: String, exchange: RecordedExchange)], ignoresOrigin: Bool) {
        self.ignoresOrigin = ignoresOrigin
        for (name, exchange) in exchanges {
            let url = RecordedURL(reference: exchange.url)
            places[key(exchange.method, url), default: []].append(entries.count)
            let conditions = RequestConditions(lines: exchange.requestLines)
            entries.append(Entry(url: url, name: name, exchange: exchange, conditions: conditions))
        }
    }

    /// The next exchange that answers a request: the first unused one, else the last, which then answers again and again.
    ///
    /// Exchanges with the request's `Range` and conditions come before others, which answer only with the whole content, as servers may. If
    /// the request has none, the exchanges without conditions and those with the whole content answer it in their order.
    ///
    /// If bodies are compared, exchanges with the request's digest come before those without one, of which it is not known whether the body
    /// is the same. For a request without a digest, those without one come before all others.
    ///
    /// - Parameters:
    ///   - method: The request's method.
    ///   - text: The request's URL.
    ///   - fields: The request's header fields.
    ///   - digest: The digest of the request's body; nil if it has none.
    ///   - comparesBodies: Whether the digest counts.
    /// - Returns: The exchange with the name of its file; nil when no exchange answers the request.
    mutating func next(
        _ method: HTTPRequest.Method, _ text: String, _ fields: HTTPFields, digest: String?, comparesBodies: Bool
    ) -> (name: String, exchange: RecordedExchange)? {
        let url = RecordedURL(reference: text)
        let conditions = RequestConditions(fields)
        let candidates = (places[key(method, url)] ?? []).filter { entries[$0].url.covers(url) }
        var groups: [[Int]] = [candidates]
        if comparesBodies {
            let withoutDigest = candidates.filter { entries[$0].exchange.bodyDigest == nil }
            if let digest {
                groups = [candidates.filter { entries[$0].exchange.bodyDigest == digest }, withoutDigest]
            } else {
                groups.insert(withoutDigest, at: 0)
            }
        }
        let matching = groups.map { fitting(conditions, among: $0) }.first { !$0.isEmpty } ?? []
        guard let index = matching.first(where: { !entries[$0].isUsed }) ?? matching.last else { return nil }
        entries[index].isUsed = true
        return (entries[index].name, entries[index].exchange)
    }

    /// The candidates that come first for a request with these conditions; none if no candidate fits.
    private func fitting(_ conditions: RequestConditions, among candidates: [Int]) -> [Int] {
        let groups = [
            conditions.exist ? candidates.filter { entries[$0].conditions.cover(conditions) } : [],
            candidates.filter { entries[$0].isUnconditional }, candidates.filter { !entries[$0].needsConditions },
        ]
        return groups.first { !$0.isEmpty } ?? []
    }

    private func key(_ method: HTTPRequest.Method, _ url: RecordedURL) -> Key {
        Key(
            method: method, origin: ignoresOrigin ? nil : url.origin, segments: url.path.utf8.count { $0 == UInt8(ascii: "/") },
            items: url.items.count)
    }
}
