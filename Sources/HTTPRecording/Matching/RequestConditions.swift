import HTTPTypes

/// What a request's fields ask for beside the whole content: a part of it, or nothing if the client's copy is current.
struct RequestConditions: Sendable {
    private static let names: [HTTPField.Name] = [.range, .ifNoneMatch, .ifModifiedSince]

    /// The value of `Range`; nil when there is none.
    private let range: String?
    private let hasTag: Bool
    private let hasDate: Bool

    init(_ fields: HTTPFields) {
        range = fields[.range]
        hasTag = fields[.ifNoneMatch] != nil
        hasDate = fields[.ifModifiedSince] != nil
    }

    /// The conditions of a recorded request.
    ///
    /// - Parameter lines: Its lines `Name: value`.
    init(lines: [String]) {
        var fields: HTTPFields = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])), Self.names.contains(name) else {
                continue
            }
            fields[name] = String(line[line.index(after: colon)...].drop { $0 == " " })
        }
        self.init(fields)
    }

    /// Whether there are any.
    var exist: Bool { range != nil || hasTag || hasDate }

    /// Whether a live request has these conditions of a recording.
    ///
    /// The values of tag and date do not count, because the replay's client may have them from another recording.
    func cover(_ live: RequestConditions) -> Bool {
        guard hasTag == live.hasTag, hasDate == live.hasDate else { return false }
        guard let range, let other = live.range else { return range == live.range }
        return range == other || RedactedText.isRedacted(range)
    }
}
