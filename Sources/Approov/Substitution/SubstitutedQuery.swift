import ApproovBase
import HTTPClient

/// The query of a URL as it is sent, item by item: values are replaced in items, never by a search in the text.
struct SubstitutedQuery {
    /// One item, between two ampersands.
    private struct Item {
        var text: Substring
        /// The decoded name; nil for an item without "=", or with malformed percent-encoding.
        var name: String?
        /// The decoded value.
        var value = ""

        init(_ text: Substring) {
            self.text = text
            guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return }
            guard let name = PercentEncoding.decoded(text[..<equals]),
                let value = PercentEncoding.decoded(text[text.utf8.index(after: equals)...])
            else { return }
            (self.name, self.value) = (name, value)
        }
    }

    private let before: Substring
    private var items: [Item]

    /// Splits the text at the first question mark.
    ///
    /// - Parameter text: A URL, or its path and query, without a fragment; the result is nil if it has no query.
    init?(_ text: String) {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        let start = text.utf8.index(after: mark)
        before = text[..<start]
        items = text[start...].split(separator: "&", omittingEmptySubsequences: false).map(Item.init)
    }

    /// Whether the body returns true for the name and value of an item, decoded.
    func contains(where body: (_ name: String, _ value: String) throws -> Bool) rethrows -> Bool {
        try items.contains { item in try item.name.map { try body($0, item.value) } ?? false }
    }

    /// Calls the body with the name and value of each item, decoded.
    func forEach(_ body: (_ name: String, _ value: String) throws -> Void) rethrows {
        for item in items { if let name = item.name { try body(name, item.value) } }
    }

    /// Replaces values; items that stay keep their spelling.
    ///
    /// - Parameter body: Returns the new value, not encoded, or nil to keep the item.
    /// - Returns: Whether an item changed.
    mutating func replace(_ body: (_ name: String, _ value: String) throws -> String?) rethrows -> Bool {
        var isChanged = false
        for index in items.indices {
            guard let name = items[index].name, let value = try body(name, items[index].value),
                let equals = items[index].text.utf8.firstIndex(of: UInt8(ascii: "="))
            else { continue }
            // The name's own spelling stays.
            items[index].text = items[index].text[...equals] + PercentEncoding.encoded(value)
            isChanged = true
        }
        return isChanged
    }

    /// The whole text.
    var text: String { before + items.map(\.text).joined(separator: "&") }
}
