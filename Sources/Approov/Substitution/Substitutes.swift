import ApproovBase
import Foundation

/// What takes the place of the placeholders of one request, and of the ones that redirected to it.
///
/// It holds secrets: `description` and `dump` show only how many.
struct Substitutes: Sendable, CustomStringConvertible, CustomReflectable {
    /// The fewest bytes of a value: a shorter one may be part of any URL by chance, so a redirect that repeats it is not recognised.
    static let leastSecretBytes = 8
    /// The layers in which a redirect is searched for secrets: the text as it is, and three of percent-encoding.
    private static let searchedLayers = 4

    /// A value that a request carried.
    struct Secret: Sendable, Hashable {
        let key: String
        let value: String
    }

    /// What takes the place of each key that was found; a key without an entry is sent as it is.
    var texts: [String: String] = [:]
    /// The texts that are secrets, not a status, including those of earlier requests.
    var secrets: Set<Secret> = []
    /// The keys whose placeholders were in a query, including those of earlier requests.
    var queryKeys: Set<String> = []
    /// The names of the headers with a placeholder.
    var headers: [String] = []
    /// The names of the query parameters with a placeholder.
    var queryParameters: [String] = []

    var isEmpty: Bool { texts.isEmpty }

    var description: String { "Substitutes(\(texts.count))" }
    var customMirror: Mirror { Mirror(self, children: []) }

    /// Takes the secrets out of the URL of a redirect: each value that is a whole query item becomes its placeholder again.
    ///
    /// - Parameter url: The URL to which a server redirects.
    /// - Returns: The URL; nil if a secret is in another part of it.
    func removed(from url: URL) -> URL? {
        guard !secrets.isEmpty else { return url }
        var text = url.absoluteString
        let fragment = text.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(text[$0...]) } ?? ""
        text.removeLast(fragment.count)
        if var query = SubstitutedQuery(text) {
            let isChanged = query.replace { _, value in key(of: value) }
            if isChanged { text = query.text }
        }
        text += fragment
        guard !isIn(text) else { return nil }
        return text == url.absoluteString ? url : URL(string: text)
    }

    /// The key of a value; nil if the value is no secret.
    ///
    /// If several keys have the value, it is the smallest of those that a query had, or else of all: the next request then finds the same
    /// placeholder as this one.
    private func key(of value: String) -> String? {
        let keys = secrets.filter { $0.value == value }.map(\.key)
        return keys.filter { queryKeys.contains($0) }.min() ?? keys.min()
    }

    /// Whether the text has a secret in it, as it is or in up to three layers of percent-encoding.
    private func isIn(_ text: String) -> Bool {
        let values = secrets.map(\.value)
        var layer = text
        for _ in 0..<Self.searchedLayers {
            if values.contains(where: { layer.contains($0) || layer.contains(PercentEncoding.encoded($0)) }) { return true }
            // A query of a form writes spaces as plus signs.
            let spaced = layer.replacing("+", with: " ")
            if values.contains(where: spaced.contains) { return true }
            // A form percent-encodes the plus signs that a value has.
            let decoded = String(decoding: PercentEncoding.leniently(spaced.utf8), as: UTF8.self)
            if values.contains(where: decoded.contains) { return true }
            let next = String(decoding: PercentEncoding.leniently(layer.utf8), as: UTF8.self)
            guard next != layer else { return false }
            layer = next
        }
        return false
    }
}
