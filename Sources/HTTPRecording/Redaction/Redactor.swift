import ApproovBase
import Crypto
import Foundation
import HTTPClient
import HTTPTypes

/// Redacts the parts of exchanges by the rules of a ``RecordingRedaction``.
struct Redactor: Sendable {
    private static let credentials: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "signature", "signature-input",
    ]
    private static let jsonLinesTypes: Set<String> = ["application/jsonl", "application/x-jsonlines", "application/x-ndjson"]
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    /// What some servers put before JSON, so that a page of another site cannot load it as a script.
    private static let scriptGuard = Array(")]}'".utf8)

    /// What follows the bracket of a JSON array.
    private static let valueBeginnings = "{[]\"-0123456789".utf8.map { [$0] } + ["true", "false", "null"].map { Array($0.utf8) }

    /// How a body names its values.
    private enum Format {
        case json, jsonLines, form, unknown
    }

    let rules: RecordingRedaction
    private let keptFields: Set<String>
    private let names: SecretNames
    private let masks: [[Substring]]
    private let key = SymmetricKey(size: .bits256)

    init(_ rules: RecordingRedaction) {
        self.rules = rules
        keptFields = Set(rules.keptFields.map { $0.lowercased() }).subtracting(Self.credentials)
        names = SecretNames(rules.secretNames)
        masks = rules.maskedPaths.map { $0.split(separator: "/", omittingEmptySubsequences: false) }
    }

    /// Returns the URL, absolute or relative, without the secrets in its path and query, and without user information and fragment.
    ///
    /// - Parameters:
    ///   - text: The URL.
    ///   - secrets: Gets the values that were redacted.
    /// - Returns: The URL for the recording.
    func url(_ text: String, _ secrets: inout Set<String>) -> String {
        var url = RecordedURL(reference: text)
        url.path = path(url.path, &secrets)
        url.items = url.items.map { item in
            let (name, value) = RecordedURL.parts(of: item)
            if rules.keptQueryNames.contains(String(name)) { return item }
            let secret = value ?? name
            guard !secret.isEmpty else { return item }
            note(secret, &secrets)
            // A parameter without `=` may be a secret by itself.
            guard value != nil else { return RedactedText.hashed(name) }
            return "\(name)=\(names.contains(name) ? RedactedText.plain : RedactedText.hashed(secret))"
        }
        return url.text
    }

    /// Returns the lines `Name: value` for the recording.
    ///
    /// - Parameters:
    ///   - fields: The header fields.
    ///   - isRequest: Whether they are a request's, of which every unknown one may be a credential.
    ///   - secrets: Gets the values that were redacted.
    /// - Returns: One line for each field, in their order.
    func lines(_ fields: HTTPFields, isRequest: Bool, _ secrets: inout Set<String>) -> [String] {
        fields.map { field in
            let name = field.name.canonicalName
            if name == "location" || name == "content-location" { return "\(field.name.rawName): \(url(field.value, &secrets))" }
            if keptFields.contains(name) { return "\(field.name.rawName): \(field.value)" }
            if isRequest || Self.credentials.contains(name) || names.contains(name) {
                note(field.value, &secrets)
                // A credential follows its scheme (RFC 9110, section 11.4), a cookie its name.
                for part in field.value.split(separator: " ") { note(part, &secrets) }
                for part in field.value.split(whereSeparator: { " ;,=".contains($0) }) { note(part, &secrets) }
            }
            return "\(field.name.rawName): \(RedactedText.keyed(field.value, key))"
        }
    }

    /// Returns a body for the recording.
    ///
    /// - Parameters:
    ///   - bytes: The whole body.
    ///   - fields: The header fields that describe it.
    ///   - secrets: The values that were redacted in this exchange.
    /// - Returns: The body without secrets.
    /// - Throws: `TransportError` with code `recordingFailed` when the body is compressed, or looks like JSON or claims to be JSON and is
    ///   not: its secrets cannot be found.
    func body(_ bytes: [UInt8], _ fields: HTTPFields, _ secrets: Set<String>) throws(TransportError) -> [UInt8] {
        guard rules.bodies == .redact, !bytes.isEmpty else { return bytes }
        guard fields[values: .contentEncoding].allSatisfy({ $0.lowercased() == "identity" }) else {
            throw Self.refusal("is compressed; send no Accept-Encoding of your own")
        }
        let redacted: [UInt8]
        switch Self.format(of: bytes, fields) {
        case .json: redacted = try json(bytes)
        case .jsonLines: redacted = try jsonLines(bytes)
        case .form: redacted = form(bytes)
        case .unknown: redacted = bytes
        }
        return ByteScrubber(secrets).scrubbed(redacted)
    }

    /// Whether the secrets in a body are found by their names.
    ///
    /// - Parameters:
    ///   - bytes: The whole body.
    ///   - fields: The header fields that describe it.
    /// - Returns: Whether the body is empty, a JSON object or array, or a form in which every value has a name.
    func findsSecrets(in bytes: [UInt8], _ fields: HTTPFields) -> Bool {
        guard !bytes.isEmpty else { return true }
        switch Self.format(of: bytes, fields) {
        case .json, .jsonLines: return Self.looksLikeJSON(bytes[...])
        case .form:
            return bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).allSatisfy { $0.contains(UInt8(ascii: "=")) }
        case .unknown: return false
        }
    }

    private static func format(of bytes: [UInt8], _ fields: HTTPFields) -> Format {
        let type = fields.mediaType
        if jsonLinesTypes.contains(type) { return .jsonLines }
        if type == "application/json" || type.hasSuffix("+json") || type == "text/json" || looksLikeJSON(bytes[...]) { return .json }
        if type == "text/event-stream", hasJSONEvents(bytes) { return .json }
        return type == "application/x-www-form-urlencoded" ? .form : .unknown
    }

    /// Whether the bytes begin as a JSON object or array does.
    private static func looksLikeJSON(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        if rest.starts(with: byteOrderMark) { rest = rest.dropFirst(byteOrderMark.count) }
        rest = rest.drop(while: isBlank)
        if rest.starts(with: scriptGuard) { rest = rest.dropFirst(scriptGuard.count).drop { isBlank($0) || $0 == UInt8(ascii: ",") } }
        guard let bracket = rest.popFirst() else { return false }
        rest = rest.drop(while: isBlank)
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

    /// Whether a byte may precede JSON: white space, or the separator of a JSON text sequence (RFC 7464).
    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D, 0x1E].contains(byte) }

    private func json(_ bytes: [UInt8]) throws(TransportError) -> [UInt8] {
        do {
            return try JSONRedactor.redacted(bytes, names)
        } catch {
            throw Self.refusal("is not JSON, although it looks like JSON or its Content-Type promises it")
        }
    }

    private func jsonLines(_ bytes: [UInt8]) throws(TransportError) -> [UInt8] {
        var lines: [[UInt8]] = []
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            let line = Array(line)
            try lines.append(line.allSatisfy(Self.isBlank) ? line : json(line))
        }
        return Array(lines.joined(separator: [UInt8(ascii: "\n")]))
    }

    private func form(_ bytes: [UInt8]) -> [UInt8] {
        let items = bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { item in
            guard let equals = item.firstIndex(of: UInt8(ascii: "=")) else { return Array(item) }
            let name = String(decoding: item[..<equals], as: UTF8.self)
            return names.contains(name.removingPercentEncoding ?? name) ? Array(item[...equals]) + RedactedText.plain.utf8 : Array(item)
        }
        return Array(items.joined(separator: [UInt8(ascii: "&")]))
    }

    private func path(_ path: String, _ secrets: inout Set<String>) -> String {
        guard !masks.isEmpty else { return path }
        var segments = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        for mask in masks where mask.count <= segments.count {
            guard zip(mask, segments).allSatisfy({ $0 == "*" || $0 == $1 }) else { continue }
            for (index, part) in mask.enumerated() where part == "*" {
                note(segments[index], &secrets)
                segments[index] = RedactedText.plain
            }
        }
        return segments.joined(separator: "/")
    }

    private func note(_ secret: some StringProtocol, _ secrets: inout Set<String>) {
        guard secret.utf8.count >= ByteScrubber.minimumLength else { return }
        secrets.insert(String(secret))
        if let decoded = secret.removingPercentEncoding, decoded.utf8.count >= ByteScrubber.minimumLength { secrets.insert(decoded) }
    }

    private static func refusal(_ reason: String) -> TransportError {
        TransportError(
            .recordingFailed,
            "the response was not recorded, because its body \(reason), so secrets in it cannot be redacted; to record such bodies as they"
                + " are, set the redaction's bodies to .keep")
    }
}
