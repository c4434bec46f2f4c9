import HTTPClient
import HTTPTypes

/// How a body names its values.
enum BodyFormat {
    case json, jsonLines, form, xml, text, unknown

    /// Where a secret may be in the body.
    var syntax: ByteScrubber.Syntax {
        switch self {
        case .json, .jsonLines: .json
        case .xml: .xml
        case .form: .form
        case .text, .unknown: .other
        }
    }

    private static let jsonLinesTypes: Set<String> = ["application/jsonl", "application/x-jsonlines", "application/x-ndjson"]
    private static let xmlTypes: Set<String> = ["application/xml", "text/xml"]
    /// Text in which a tag does not promise XML.
    private static let tagTypes: Set<String> = ["text/html", "text/markdown"]
    private static let textTypes: Set<String> = ["application/graphql", "application/javascript", "application/x-javascript"]
    /// The ends of the types of YAML (RFC 9512) and TOML, such as `text/x-yaml` and `application/openapi+yaml`.
    private static let configurationEndings = ["yaml", "yml", "toml"]
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    /// What some servers put before JSON, so that a page of another site cannot load it as a script.
    private static let scriptGuard = Array(")]}'".utf8)

    /// What follows the bracket of a JSON array.
    private static let valueBeginnings = "{[]\"-0123456789".utf8.map { [$0] } + ["true", "false", "null"].map { Array($0.utf8) }
    /// The beginnings of a document in UTF-16 or UTF-32, in which every second byte of a tag is 0.
    private static let wideBeginnings: [[UInt8]] = [[0x3C, 0], [0, 0x3C], [0, 0, 0, 0x3C]]
    private static let wideMarks: [[UInt8]] = [[0xFF, 0xFE], [0xFE, 0xFF], [0, 0, 0xFE, 0xFF]]

    /// The format of a body, by its type or by its beginning.
    init(of bytes: [UInt8], _ fields: HTTPFields) {
        let type = fields.mediaType
        self =
            if Self.jsonLinesTypes.contains(type) {
                .jsonLines
            } else if type == "application/json" || type.hasSuffix("+json") || type == "text/json" || Self.looksLikeJSON(bytes[...]) {
                .json
            } else if type == "text/event-stream", Self.hasJSONEvents(bytes) {
                .json
            } else if Self.xmlTypes.contains(type) || type.hasSuffix("+xml") {
                .xml
            } else if Self.tagTypes.contains(type) {
                Self.content(bytes[...]).starts(with: "<?xml".utf8) ? .xml : .unknown
            } else if Self.looksLikeXML(bytes[...], isText: type.hasPrefix("text/") || type.isEmpty) {
                .xml
            } else if type == "application/x-www-form-urlencoded" {
                .form
            } else {
                Self.isText(type) || Self.looksLikeText(bytes) ? .text : .unknown
            }
    }

    private static func isText(_ type: String) -> Bool { type.hasPrefix("text/") || textTypes.contains(type) }

    /// Whether a body is YAML or TOML by its type: there a value may be in other lines than its name, and only a parser could find it.
    static func isConfiguration(_ fields: HTTPFields) -> Bool {
        // There may be several fields, of which a client takes one.
        fields[values: .contentType].contains { value in
            let type = value.drop { " \t".contains($0) }.prefix { !"; \t".contains($0) }.lowercased()
            return configurationEndings.contains { type.hasSuffix($0) }
        }
    }

    /// Whether the bytes are UTF-8 without control characters, which binary formats have, such as that of Protocol Buffers.
    private static func looksLikeText(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { $0 >= 0x20 || [0x09, 0x0A, 0x0D].contains($0) } && String(validating: bytes, as: UTF8.self) != nil
    }

    /// Whether the bytes begin as a JSON object or array does.
    static func looksLikeJSON(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = content(bytes)
        if rest.starts(with: scriptGuard) {
            rest = rest.dropFirst(scriptGuard.count).drop { mayPrecedeJSON($0) || $0 == UInt8(ascii: ",") }
        }
        guard let bracket = rest.popFirst() else { return false }
        rest = rest.drop(while: mayPrecedeJSON)
        // Other text may begin with a bracket, too, such as `[INFO]` or `{{name}}`.
        switch bracket {
        case UInt8(ascii: "{"): return rest.isEmpty || [UInt8(ascii: "\""), UInt8(ascii: "}")].contains(rest.first)
        case UInt8(ascii: "["): return rest.isEmpty || valueBeginnings.contains { rest.starts(with: $0) }
        default: return false
        }
    }

    /// Whether the value of a line, after its colon, looks like JSON.
    private static func hasJSONEvents(_ bytes: [UInt8]) -> Bool {
        bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            .contains { line in looksLikeJSON(line.drop { $0 != UInt8(ascii: ":") }.dropFirst()) }
    }

    /// Whether the bytes begin as an XML document does, and not as HTML.
    private static func looksLikeXML(_ bytes: ArraySlice<UInt8>, isText: Bool) -> Bool {
        if isText, wideBeginnings.contains(where: { bytes.starts(with: $0) }) || hasWideTag(bytes) { return true }
        let rest = content(bytes)
        guard rest.first == UInt8(ascii: "<"), let next = rest.dropFirst().first else { return false }
        guard !["<html", "<!doctype html"].contains(where: { begins(rest, withTag: $0) }) else { return false }
        switch next {
        case 0x41...0x5A, 0x61...0x7A, 0x80..., UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "?"), UInt8(ascii: "!"): return true
        default: return false
        }
    }

    /// Whether the bytes begin with a tag in upper or lower case, and not with one whose name is longer.
    private static func begins(_ bytes: ArraySlice<UInt8>, withTag tag: String) -> Bool {
        guard String(decoding: bytes.prefix(tag.utf8.count), as: UTF8.self).lowercased() == tag else { return false }
        return bytes.dropFirst(tag.utf8.count).first.map { mayPrecedeJSON($0) || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "/") }
            ?? true
    }

    /// Whether the bytes begin with the byte order mark of UTF-16 or UTF-32, and `<`.
    private static func hasWideTag(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let mark = wideMarks.first(where: { bytes.starts(with: $0) }) else { return false }
        return bytes.dropFirst(mark.count).drop { $0 == 0 || mayPrecedeJSON($0) }.first == UInt8(ascii: "<")
    }

    /// The bytes without a byte order mark and blanks at the beginning.
    private static func content(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        (bytes.starts(with: byteOrderMark) ? bytes.dropFirst(byteOrderMark.count) : bytes).drop(while: mayPrecedeJSON)
    }

    /// Whether a byte may precede JSON: white space, or the separator of a JSON text sequence (RFC 7464).
    static func mayPrecedeJSON(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D, 0x1E].contains(byte) }
}
