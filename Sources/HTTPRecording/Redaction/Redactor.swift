import ApproovBase
import Crypto
import Foundation
import HTTPClient
import HTTPTypes

/// Redacts the parts of exchanges by the rules of a ``RecordingRedaction``.
struct Redactor: Sendable {
    let rules: RecordingRedaction
    private let keptFields: Set<String>
    /// The names of secrets in bodies.
    private let names: SecretNames
    /// Those in queries and header fields, where ``RecordingRedaction/keptNames`` do not count.
    private let headNames: SecretNames
    private let masks: [PathRule]
    private let key = SymmetricKey(size: .bits256)

    /// - Throws: `TransportError` with code `recordingFailed` for a masked path that is no rule.
    init(_ rules: RecordingRedaction) throws(TransportError) {
        self.rules = rules
        keptFields = Set(rules.keptFields.map { $0.lowercased() }).subtracting(SecretNames.headers)
        names = SecretNames(rules.secretNames, keeping: rules.keptNames)
        headNames = SecretNames(rules.secretNames)
        masks = try rules.maskedPaths.map { (text) throws(TransportError) in
            guard let rule = PathRule(text) else {
                throw TransportError(
                    .recordingFailed,
                    "maskedPaths has \"\(LoggableText.name(text))\": write a path such as /reset/* or, for all that follows, /files/**")
            }
            return rule
        }
    }

    /// Returns the URL, absolute or relative, without the secrets in its path and query, and without user information and fragment.
    ///
    /// - Parameters:
    ///   - text: The URL.
    ///   - base: The path that a relative URL begins from.
    ///   - secrets: Gets the values that were redacted.
    /// - Returns: The URL for the recording.
    func url(_ text: String, from base: String = "/", _ secrets: inout Set<NotedSecret>) -> String {
        var url = RecordedURL(reference: text)
        noteWhatIsDropped(of: text, &secrets)
        url.path = path(url.path, from: base, &secrets)
        url.items = url.items.map { item in
            if item.isEmpty || isKept(item) { return item }
            let (name, value) = RecordedURL.parts(of: item)
            let isSecretName = value != nil && isSecret(inQuery: name)
            noteParameter(value ?? name, as: isSecretName ? .credential : .other, &secrets)
            // A parameter without a value may be a secret by itself.
            guard let value else { return RedactedText.hashed(name) }
            return "\(name)=\(isSecretName ? RedactedText.plain : RedactedText.hashed(value))"
        }
        return url.text
    }

    /// Whether an item of a query stays as it is: its name does, and its value, also without encodings, has neither the signs of another
    /// parameter nor a token.
    private func isKept(_ item: String) -> Bool {
        guard rules.keptQueryNames.contains(String(item.prefix { $0 != "=" })) else { return false }
        let equals = UInt8(ascii: "=")
        return TextDecoding.stages(of: Array(item.utf8.drop { $0 != equals }.dropFirst())).allSatisfy { value in
            // Base64 ends with equals signs.
            let hasParameter = value.firstIndex(of: equals).map { value[$0...].contains { $0 != equals } } ?? false
            return !hasParameter && !value.contains { ";?&".utf8.contains($0) }
                && ByteScrubber([]).scrubbed(value, as: BodyFormat.text.syntax) == value
        }
    }

    /// Notes the user's name and password, and what has a name in the fragment, as in `#access_token=x`.
    private func noteWhatIsDropped(of url: String, _ secrets: inout Set<NotedSecret>) {
        // Also the passwords of URLs in the URL, which are usually percent-encoded there.
        _ = URLPasswords.note(in: TextDecoding.stages(of: Array(url.utf8)), &secrets)
        if let user = RecordedURL.userInformation(of: url) {
            let name = user.prefix { $0 != ":" }
            // Some servers take a key in the place of the user's name.
            secrets.note(name, as: .other)
            if name.endIndex < user.endIndex {
                secrets.note(user, as: .credential)
                secrets.note(user[user.index(after: name.endIndex)...], as: .password)
            }
        }
        guard let mark = url.firstIndex(of: "#") else { return }
        for item in url[mark...].split(whereSeparator: { "#?&".contains($0) }) {
            guard case let (name, value?) = RecordedURL.parts(of: String(item)) else { continue }
            noteParameter(value, as: isSecret(inQuery: name) ? .credential : .other, &secrets)
        }
    }

    /// Notes a value of a query, in which `+` may stand for a blank.
    private func noteParameter(_ value: Substring, as kind: NotedKind, _ secrets: inout Set<NotedSecret>) {
        secrets.note(value, as: kind)
        if value.contains("+") { secrets.note(value.replacing("+", with: " "), as: kind) }
    }

    private func isSecret(inQuery name: Substring) -> Bool { headNames.isSecret(parameter: name.removingPercentEncoding ?? String(name)) }

    /// Returns the lines `Name: value` for the recording.
    ///
    /// - Parameters:
    ///   - fields: The header fields.
    ///   - isRequest: Whether they are a request's, of which `Link` is an unknown one.
    ///   - base: The path of the request, from which relative URLs begin.
    ///   - found: The values that were redacted in the bodies of the exchange.
    ///   - secrets: Gets the values that were redacted.
    /// - Returns: One line for each field, in their order.
    func lines(
        _ fields: HTTPFields, isRequest: Bool, from base: String = "/", found: Set<NotedSecret> = [], _ secrets: inout Set<NotedSecret>
    ) -> [String] {
        let values = fields.map { recordedValue(of: $0, isRequest: isRequest, from: base, &secrets) }
        // A field that is kept may quote a secret, as servers do in a challenge when they describe the token that they refused.
        let (all, tokens) = (ByteScrubber(secrets.union(found)), ByteScrubber([]))
        return zip(fields, values).map { field, value in
            let name = field.name.canonicalName
            guard keptFields.contains(name), !Self.isLocation(field) else { return "\(field.name.rawName): \(value)" }
            let scrubber = Self.exactFields.contains(name) ? tokens : all
            return "\(field.name.rawName): \(String(decoding: scrubber.scrubbed(Array(value.utf8)), as: UTF8.self))"
        }
    }

    /// Fields that clients act on, such as `ETag`, which may equal what a request has in a field that is not kept: they lose only tokens
    /// and keys.
    private static let exactFields = Set(RecordingRedaction.standard.keptFields.map { $0.lowercased() })
        .subtracting(["server", "user-agent", "www-authenticate"]).union(["link"])

    private static func isLocation(_ field: HTTPField) -> Bool { ["location", "content-location"].contains(field.name.canonicalName) }

    private func recordedValue(of field: HTTPField, isRequest: Bool, from base: String, _ secrets: inout Set<NotedSecret>) -> String {
        let name = field.name.canonicalName
        if Self.isLocation(field) {
            // The secrets in the URL are noted even if it is not kept.
            let reference = url(field.value, from: base, &secrets)
            if keptFields.contains(name) { return reference }
        }
        if name == "link", !isRequest { return links(field.value, from: base, &secrets) }
        if keptFields.contains(name) {
            let isChallenge = name == "www-authenticate" || name == "proxy-authenticate"
            return isChallenge ? HeadSecrets.challenge(field.value, &secrets) : field.value
        }
        HeadSecrets.note(field.value, of: name, isSecret: headNames.contains(name), &secrets)
        return RedactedText.keyed(field.value, key)
    }

    /// The links of a response (RFC 8288), whose URLs a client follows, for example to the next page: each with its relation alone.
    private func links(_ value: String, from base: String, _ secrets: inout Set<NotedSecret>) -> String {
        value.split(separator: "<").compactMap { piece in
            guard let end = piece.firstIndex(of: ">") else { return nil }
            let relation = piece[end...].split(whereSeparator: { ";,".contains($0) }).lazy
                .map { $0.trimmingCharacters(in: .whitespaces) }.first { $0.lowercased().hasPrefix("rel=") }
            return "<\(url(String(piece[..<end]), from: base, &secrets))>" + (relation.map { "; \($0)" } ?? "")
        }.joined(separator: ", ")
    }

    /// Returns a body without the values of secrets by their names; ``scrubbed(_:of:_:)`` removes them where they have none.
    ///
    /// - Parameters:
    ///   - bytes: The whole body.
    ///   - fields: The header fields that describe it.
    ///   - found: Gets the values that are redacted in the body.
    /// - Returns: The body without those values.
    /// - Throws: `TransportError` with code `recordingFailed` when the body is compressed, has several parts, is YAML or TOML, or looks
    ///   like JSON or XML or claims to be that and cannot be read: its secrets cannot be found. Those that were found before are noted
    ///   nevertheless.
    func body(_ bytes: [UInt8], _ fields: HTTPFields, found: inout Set<NotedSecret>) throws(TransportError) -> [UInt8] {
        guard rules.bodies == .redact, !bytes.isEmpty else { return bytes }
        guard fields[values: .contentEncoding].allSatisfy({ $0.lowercased() == "identity" }) else {
            throw Self.refusal("is compressed; do not set Accept-Encoding yourself")
        }
        // There may be several fields, of which a client takes one.
        guard !fields[values: .contentType].contains(where: { $0.drop { " \t".contains($0) }.lowercased().hasPrefix("multipart/") }) else {
            throw Self.refusal("has several parts (multipart)")
        }
        guard !BodyFormat.isConfiguration(fields) else {
            // Its other secrets may be in other lines than their names.
            _ = TextRedactor.redacted(URLPasswords.redacted(bytes, &found), names, &found)
            throw Self.refusal("is YAML or TOML")
        }
        switch BodyFormat(of: bytes, fields) {
        case .json: return try json(bytes, &found)
        case .jsonLines: return try jsonLines(bytes, &found)
        case .form: return form(bytes, &found)
        case .xml: return try xml(bytes, fields, &found)
        case .text: return TextRedactor.redacted(URLPasswords.redacted(bytes, &found), names, &found)
        case .unknown: return bytes
        }
    }

    /// Returns a redacted body without secrets that were found elsewhere, and without tokens and keys.
    ///
    /// All secrets must be removed at once: the rest of a secret is not found any more when another one has been removed from it.
    ///
    /// - Parameters:
    ///   - secrets: The values that were redacted in the heads and bodies of its exchange.
    ///   - body: What ``body(_:_:found:)`` returned.
    ///   - fields: The header fields that describe it.
    /// - Returns: The body for the recording.
    func scrubbed(_ secrets: Set<NotedSecret>, of body: [UInt8], _ fields: HTTPFields) -> [UInt8] {
        guard rules.bodies == .redact else { return body }
        return ByteScrubber(secrets).scrubbed(body, as: BodyFormat(of: body, fields).syntax)
    }

    /// Whether the secrets in a body are found by their names.
    ///
    /// - Parameters:
    ///   - bytes: The whole body.
    ///   - fields: The header fields that describe it.
    /// - Returns: Whether the body is empty, a JSON object or array, or a form in which every value has a name.
    func findsSecrets(in bytes: [UInt8], _ fields: HTTPFields) -> Bool {
        guard !bytes.isEmpty else { return true }
        switch BodyFormat(of: bytes, fields) {
        case .json, .jsonLines: return BodyFormat.looksLikeJSON(bytes[...])
        case .form:
            return bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).allSatisfy { $0.contains(UInt8(ascii: "=")) }
        case .xml, .text, .unknown: return false
        }
    }

    private func json(_ bytes: [UInt8], _ secrets: inout Set<NotedSecret>) throws(TransportError) -> [UInt8] {
        do {
            return try JSONRedactor.redacted(bytes, names, &secrets)
        } catch {
            throw Self.refusal("is not JSON, although it looks like JSON or its Content-Type promises it")
        }
    }

    private func xml(_ bytes: [UInt8], _ fields: HTTPFields, _ secrets: inout Set<NotedSecret>) throws(TransportError) -> [UInt8] {
        let charset = fields[.contentType]?.lowercased().split(separator: "charset=", maxSplits: 1).dropFirst().first?
            .prefix { $0 != ";" }.filter { $0 != "\"" && $0 != " " }
        guard let redacted = try? XMLRedactor.redacted(bytes, names, &secrets), XMLRedactor.reads(encoding: charset ?? "utf-8") else {
            throw Self.refusal(
                "looks like XML or its Content-Type promises it, and is not well-formed XML in UTF-8 without an internal document type"
                    + " declaration")
        }
        return redacted
    }

    private func jsonLines(_ bytes: [UInt8], _ secrets: inout Set<NotedSecret>) throws(TransportError) -> [UInt8] {
        var lines: [[UInt8]] = []
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            let line = Array(line)
            try lines.append(line.allSatisfy(BodyFormat.mayPrecedeJSON) ? line : json(line, &secrets))
        }
        return Array(lines.joined(separator: [UInt8(ascii: "\n")]))
    }

    private func form(_ bytes: [UInt8], _ secrets: inout Set<NotedSecret>) -> [UInt8] {
        let items = bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { item in
            guard let equals = item.firstIndex(of: UInt8(ascii: "=")) else { return Array(item) }
            let name = String(decoding: item[..<equals], as: UTF8.self)
            let value = item[(equals + 1)...]
            let spaced = value.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
            if names.isSecret(parameter: name.removingPercentEncoding ?? name) {
                secrets.note(value)
                secrets.note(spaced)
            } else {
                guard names.mustReplace(spaced, noting: &secrets) else { return Array(item) }
                secrets.noteUnstructured(PercentEncoding.leniently(spaced))
            }
            return Array(item[...equals]) + RedactedText.plain.utf8
        }
        return Array(items.joined(separator: [UInt8(ascii: "&")]))
    }

    /// Hides the segments of a path that a rule masks, where it leads from another path, and those with a token, a key or a URL with a
    /// password.
    ///
    /// Servers may take an encoded slash, or a backslash, for a slash, or not: a rule that applies in either reading counts.
    private func path(_ path: String, from base: String, _ secrets: inout Set<NotedSecret>) -> String {
        var segments = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        var hidden: Set<Int> = []
        for index in segments.indices {
            // The slashes of `https://user:password@host` are around an empty segment.
            let isHost = index >= 2 && segments[index - 1].isEmpty && Self.isScheme(segments[index - 2])
            if Self.hasSecret(isHost ? "://\(segments[index])" : segments[index]) { hidden.insert(index) }
        }
        for splitsSegments in masks.isEmpty ? [] : [false, true] {
            // The segments with their places in `path`, without dot segments (RFC 3986, section 5.2).
            var resolved: [(name: String, index: Int?)] = []
            func append(_ segment: some StringProtocol, _ index: Int?) {
                let name = PathRule.decoded(segment)
                for part in splitsSegments ? name.split(whereSeparator: { "/\\".contains($0) }) : [name[...]] {
                    switch part {
                    case "", ".": continue
                    case "..": _ = resolved.popLast()
                    default: resolved.append((String(part), index))
                    }
                }
            }
            if !path.hasPrefix("/") {
                for segment in base.split(separator: "/", omittingEmptySubsequences: false).dropLast() { append(segment, nil) }
            }
            for (index, segment) in segments.enumerated() { append(segment, index) }
            for mask in masks { hidden.formUnion(mask.hidden(in: resolved.map(\.name)).compactMap { resolved[$0].index }) }
        }
        for index in hidden {
            secrets.note(segments[index], as: .credential)
            segments[index] = RedactedText.plain
        }
        return segments.joined(separator: "/")
    }

    /// Whether a segment of a path ends as the scheme of a URL does.
    private static func isScheme(_ segment: String) -> Bool { segment.hasSuffix(":") || segment.lowercased().hasSuffix("%3a") }

    /// Whether a segment of a path has a token, a key or a URL with a password, also in an encoding.
    private static func hasSecret(_ segment: String) -> Bool {
        let scrubber = ByteScrubber([])
        return TextDecoding.stages(of: Array(segment.utf8)).contains { text in
            URLPasswords.next(in: text[...]) != nil || scrubber.scrubbed(text) != text
        }
    }

    private static func refusal(_ reason: String) -> TransportError {
        TransportError(
            .recordingFailed,
            "the response was not recorded, because its body \(reason), so secrets in it cannot be redacted; to record such bodies as they"
                + " are, set the redaction's bodies to .keep")
    }
}
