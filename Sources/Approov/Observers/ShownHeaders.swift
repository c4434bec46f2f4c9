import ApproovBase
import HTTPTypes

/// The header fields whose values one observer sees.
struct ShownHeaders: Sendable {
    private let names: Set<String>

    /// Drops the names of fields that may hold a credential.
    ///
    /// - Parameters:
    ///   - wanted: The names that the observer asks for.
    ///   - reserved: The names, in lower case, of the fields that the session sets, or that hold secure strings.
    init(_ wanted: Set<String>, reserved: Set<String>) {
        names = Set(wanted.map { $0.lowercased() }.filter { !reserved.contains($0) && !Self.mayHoldCredential($0) })
    }

    /// Whether the observer sees no values.
    var isEmpty: Bool { names.isEmpty }

    /// Returns the values to show, by name; empty without an allocation if there are none.
    ///
    /// - Parameters:
    ///   - fields: The fields.
    ///   - hidden: Further names, in lower case, that this call does not show.
    /// - Returns: The values.
    func values(of fields: HTTPFields, hiding hidden: Set<String> = []) -> [String: String] {
        guard !names.isEmpty else { return [:] }
        var shown: [String: String] = [:]
        for field in fields where names.contains(field.name.canonicalName) && !hidden.contains(field.name.canonicalName) {
            let value = LoggableText.quoted(field.value, limit: 256)
            shown[field.name.canonicalName] = shown[field.name.canonicalName].map { "\($0), \(value)" } ?? value
        }
        return shown
    }

    private static func mayHoldCredential(_ name: String) -> Bool {
        words.contains { name.contains($0) } || urls.contains(name)
    }

    private static let words = [
        "auth", "cookie", "credential", "csrf", "jwt", "key", "otp", "passw", "proxy-", "secret", "session", "sig", "token", "xsrf",
    ]
    /// The fields that hold a URL, whose query or path may be a secret.
    private static let urls: Set<String> = ["content-location", "link", "location", "origin", "referer", "refresh"]
}
