internal import Foundation
internal import HTTPClient
internal import HTTPTypes
internal import OHTTP

/// Selects the header fields that are forwarded to an origin, or back from it.
enum ForwardedFields {
    /// Fields that the transport sets, and fields between a client and its proxy.
    private static let dropped: Set<String> = [
        "host", "content-length", "expect", "te", "trailer", "proxy-authorization", "proxy-authenticate", "proxy-authentication-info",
        "http2-settings", "transfer-encoding", "connection", "upgrade", "keep-alive", "proxy-connection",
    ]
    private static let droppedToClient = dropped.subtracting(["content-length"])

    /// The fields that an origin receives; no field is added.
    ///
    /// Several Cookie fields become one: Binary HTTP allows several, as HTTP/2 does, but an HTTP/1.1 origin accepts only one (RFC 9113,
    /// section 8.2.3).
    static func toOrigin(_ fields: HTTPFields) -> HTTPFields {
        joiningCookies(removed(dropped, from: fields))
    }

    private static func joiningCookies(_ fields: HTTPFields) -> HTTPFields {
        let values = fields.filter { $0.name == .cookie }.map(\.value)
        guard values.count > 1 else { return fields }
        var joined = HTTPFields()
        var isFirst = true
        for field in fields {
            if field.name != .cookie {
                joined.append(field)
            } else if isFirst {
                // Appended as one field: setting it by name would split it again.
                joined.append(HTTPField(name: .cookie, value: values.joined(separator: "; ")))
                isFirst = false
            }
        }
        return joined
    }

    /// The header fields that a client receives.
    static func toClient(_ fields: HTTPFields) -> HTTPFields { removed(droppedToClient, from: fields) }

    /// The trailer fields that a client receives.
    static func trailers(_ fields: HTTPFields) -> HTTPFields { removed(dropped, from: fields) }

    private static func removed(_ names: Set<String>, from fields: HTTPFields) -> HTTPFields {
        var kept = HTTPFields()
        for field in ConnectionFields.removed(from: fields) where !names.contains(field.name.canonicalName) { kept.append(field) }
        return kept
    }
}
