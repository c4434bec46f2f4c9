public import HTTPTypes

/// Fields that concern a single connection and have no meaning beyond it (RFC 9110, section 7.6.1).
///
/// The encoders leave them out. The decoders keep them, as RFC 9292, section 3.6 requires: code that forwards a decoded message must
/// remove them.
public enum ConnectionFields {
    /// Removes the connection-specific fields.
    ///
    /// These are Connection, the fields that it names, Keep-Alive, Proxy-Connection, TE other than `trailers`, Transfer-Encoding and
    /// Upgrade.
    ///
    /// - Parameter fields: The fields of a decoded message.
    /// - Returns: The other fields, in order.
    public static func removed(from fields: HTTPFields) -> HTTPFields {
        let named = named(in: fields)
        var kept = HTTPFields()
        for field in fields where !isAboutConnection(field, named: named) { kept.append(field) }
        return kept
    }

    /// The field names in the Connection field, in lower case.
    static func named(in fields: HTTPFields) -> Set<String> {
        guard fields.contains(.connection) else { return [] }
        let names = fields[values: .connection].joined(separator: ",").lowercased().split(separator: ",")
        return Set(names.map { String($0.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }) })
    }

    @inline(__always)
    static func isAboutConnection(_ field: HTTPField, named: Set<String>) -> Bool {
        let name = field.name.canonicalName
        switch name.utf8.count {
        case 2: if name == "te", field.value.lowercased() != "trailers" { return true }
        case 7: if name == "upgrade" { return true }
        case 10: if name == "connection" || name == "keep-alive" { return true }
        case 16: if name == "proxy-connection" { return true }
        case 17: if name == "transfer-encoding" { return true }
        default: break
        }
        return !named.isEmpty && named.contains(name)
    }
}
