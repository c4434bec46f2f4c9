import ApproovBase
import Attestation
import Foundation
import Logging

/// One log event, as a line of text or of JSON.
///
/// Line ends are escaped, and long texts are cut.
struct LogLine {
    let date: Date
    let level: Logger.Level
    let label: String
    let message: String
    let metadata: Logger.Metadata

    /// The maximum length of a message or a value, in characters.
    private static let maximumLength = 2_000
    /// The maximum number of metadata members.
    private static let maximumMembers = 64
    /// The maximum nesting depth of metadata.
    private static let maximumDepth = 8

    private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    /// Text such as `2027-01-31T12:00:00.000Z notice approov.gateway: what happened key=7`.
    ///
    /// Keys are sorted; a value that is not a plain word is quoted.
    var text: String {
        let members = values.sorted { $0.key < $1.key }.map { " \(Self.word($0.key))=\(Self.word($0.value))" }
        return "\(date.formatted(Self.time)) \(level) \(label): \(Self.escaped(message))\(members.joined())"
    }

    /// An object (RFC 8259) with `timestamp` (RFC 3339, UTC), `level`, `label`, `message`, and the metadata as further members.
    ///
    /// A metadata member with one of those names gets an underscore appended.
    var json: String {
        var object: [String: JSONValue] = [
            "timestamp": .string(date.formatted(Self.time)), "level": .string(level.rawValue), "label": .string(label),
            "message": .string(Self.cut(message)),
        ]
        for (key, value) in values {
            object[object[key] == nil ? key : key + "_"] = value
        }
        return String(decoding: JSONValue.object(object).serialized(), as: UTF8.self)
    }

    private var values: [String: JSONValue] {
        let kept =
            metadata.count > Self.maximumMembers
            ? metadata.sorted { $0.key < $1.key }.prefix(Self.maximumMembers) : metadata.map { $0 }[...]
        return Dictionary(kept.map { (Self.cut($0.key), Self.json($0.value, depth: 0)) }) { $1 }
    }

    private static func json(_ value: Logger.MetadataValue, depth: Int) -> JSONValue {
        switch value {
        case .dictionary(let members) where depth < maximumDepth:
            .object(Dictionary(members.prefix(maximumMembers).map { (cut($0.key), json($0.value, depth: depth + 1)) }) { $1 })
        case .array(let elements) where depth < maximumDepth:
            .array(elements.prefix(maximumMembers).map { json($0, depth: depth + 1) })
        default: .string(cut("\(value)"))
        }
    }

    /// Cuts a long text, and removes the line ends that JSON does not escape.
    private static func cut(_ text: String) -> String {
        let text = text.count > maximumLength ? "\(text.prefix(maximumLength))…" : text
        guard text.unicodeScalars.contains(where: isOtherLineEnd) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isOtherLineEnd($0) ? "\n" : $0 }))
    }

    private static func isOtherLineEnd(_ scalar: Unicode.Scalar) -> Bool { ["\u{85}", "\u{2028}", "\u{2029}", "\u{7f}"].contains(scalar) }

    /// Escapes control characters as JSON does.
    private static func escaped(_ text: String) -> String {
        let text = cut(text)
        guard text.utf8.contains(where: { $0 < 0x20 }) else { return text }
        return String(quoted(.string(text)).dropFirst().dropLast())
    }

    private static func word(_ text: String) -> String { word(.string(text)) }

    /// Returns a value as it is, or as JSON if it is not a plain word.
    private static func word(_ value: JSONValue) -> String {
        guard case .string(let text) = value, !text.isEmpty, !text.utf8.contains(where: { $0 <= 0x20 || "\"=".utf8.contains($0) }) else {
            return quoted(value)
        }
        return text
    }

    private static func quoted(_ value: JSONValue) -> String { String(decoding: value.serialized(), as: UTF8.self) }
}
