/// The values that a label announces as secret, such as `password` in `{"name":"password","value":"x"}`.
enum Announcement: Comparable {
    case nothing
    /// The one called `value`. The label has other uses, as `type` has in `{"type":"session.created","data":{}}`.
    case value
    /// Those called `value`, or similarly. The label may be the title of something that has other values, too.
    case values
    /// Everything beside the label.
    case everything
}

/// Labels: members, elements and attributes called `name` or `key`, which name a value beside them, and a few more in JSON.
extension SecretNames {
    /// The names, in lower case, of members of JSON that often name the value beside them, as `path` does in a JSON Patch (RFC 6902).
    private static let furtherLabels: Set<String> = ["field", "header", "id", "path", "type"]
    /// The names, in lower case, of the values that they may announce.
    private static let plainValueNames: Set<String> = ["value", "val", "v"]
    /// The names, in lower case, of values that have their name in a label.
    private static let valueNames: Set<String> = ["value", "val", "v", "content", "data", "default", "text", "string", "integer"]

    /// Whether elements, attributes and members of this name are labels.
    static func isLabel(_ name: ArraySlice<UInt8>) -> Bool { ["name", "key"].contains(Texts.localName(name).lowercased()) }

    /// What the text of a label announces.
    ///
    /// - Parameter text: The text of the label; it may have references of XML.
    /// - Returns: Everything if the text is a known name and nothing else, and values if it has one in it.
    func announcement(of text: ArraySlice<UInt8>) -> Announcement {
        let name = String(decoding: Texts.trimmed(References.decoded(text)[...]), as: UTF8.self)
        return isExact(name) ? .everything : contains(name) ? .values : .nothing
    }

    /// What a member of JSON announces.
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - text: The member's text.
    /// - Returns: What the text of a label announces; of `type`, `path` and the like, the member `value` at most.
    func announcement(byMember name: ArraySlice<UInt8>, _ text: [UInt8]) -> Announcement {
        if Self.isLabel(name) { return announcement(of: text[...]) }
        let label = String(decoding: name, as: UTF8.self).lowercased()
        guard Self.furtherLabels.contains(label) else { return .nothing }
        return min(announcement(of: label == "path" ? Self.lastStep(of: text) : text[...]), .value)
    }

    /// The last path segment that is not an array index, such as `password` in `/users/7/password`.
    private static func lastStep(of path: [UInt8]) -> ArraySlice<UInt8> {
        path.split(separator: UInt8(ascii: "/")).last { !$0.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") } } ?? []
    }

    /// Whether a value of this name is announced; a label called `name` or `key` never is.
    static func isAnnounced(_ name: ArraySlice<UInt8>, by announcement: Announcement) -> Bool {
        guard announcement != .nothing, !isLabel(name) else { return false }
        if announcement == .everything { return true }
        return (announcement == .value ? plainValueNames : valueNames).contains(Texts.localName(name).lowercased())
    }
}
