/// The values that a label announces as secret, such as `password` in `{"name":"password","value":"x"}`.
enum Announcement: Comparable {
    case nothing
    /// Those called `value`, or similarly. The label may be the title of something that has other values, too.
    case values
    /// Everything beside the label.
    case everything
}

/// Labels: members, elements and attributes called `name` or `key`, which name a value beside them.
extension SecretNames {
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

    /// Whether a value of this name is announced; a label never is.
    static func isAnnounced(_ name: ArraySlice<UInt8>, by announcement: Announcement) -> Bool {
        guard announcement != .nothing, !isLabel(name) else { return false }
        return announcement == .everything || valueNames.contains(Texts.localName(name).lowercased())
    }
}
