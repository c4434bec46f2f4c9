import ApproovBase

/// Removes known secrets, and everything that looks like a JSON Web Token or a private key, from any bytes.
struct ByteScrubber {
    /// Shorter values are too likely to be part of something else.
    static let minimumLength = 8

    /// What bytes are, and so where a secret may be in them.
    enum Syntax { case json, xml, form, other }

    /// How a part of the bytes spells its characters.
    enum Spelling {
        /// As they are; the text may be a document with references, as in a CDATA section.
        case plain
        /// With the escapes of a JSON string (RFC 8259, section 7).
        case json
        /// With the references of XML.
        case xml
        /// With `+` for a blank.
        case form
    }

    let secrets: NotedPieces

    init(_ secrets: Set<NotedSecret>) { self.secrets = NotedPieces(of: secrets.filter { !RedactedText.isRedacted($0.text) }) }

    /// Returns the bytes with `REDACTED` in the places of secrets.
    ///
    /// JSON stays JSON, and XML stays XML: a replacement never passes the end of a string, a text or a value, and a number in JSON becomes
    /// 0. In JSON, XML and forms, a string, a text or a value is replaced as a whole if a secret is in it with escapes, references or
    /// percent-encoding, or if it cannot be read. In other bytes that is a piece between blanks, quotation marks, `<` and `>`.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - syntax: What they are; JSON and XML must be well-formed.
    /// - Returns: The bytes without secrets.
    func scrubbed(_ bytes: [UInt8], as syntax: Syntax = .other) -> [UInt8] {
        switch syntax {
        case .json: scrubbedJSON(bytes)
        case .xml: scrubbedXML(bytes)
        case .form: scrubbedForm(bytes)
        case .other: scrubbedText(bytes)
        }
    }

    /// Returns a number with `REDACTED` in the places of secrets.
    func scrubbed(number: ArraySlice<UInt8>) -> [UInt8] {
        let number = Array(number)
        return scrubbedAsSpelled(number.indices, of: number, .plain)
    }

    /// Returns a string, a text or a value with `REDACTED` in the places of secrets, or that word alone if one of them is spelled in
    /// another way.
    func scrubbed(_ part: Range<Int>, of bytes: [UInt8], _ spelling: Spelling) -> [UInt8] {
        let scrubbed = scrubbedAsSpelled(part, of: bytes, spelling)
        return isClean(part, of: bytes, spelling, scrubbed) ? scrubbed : Array(RedactedText.plain.utf8)
    }

    /// Returns bytes of an unknown form with `REDACTED` in the places of secrets, and of the pieces that have one in another spelling.
    private func scrubbedText(_ bytes: [UInt8]) -> [UInt8] {
        let spelled = placesAsSpelled(in: bytes.indices, of: bytes, .plain)
        let encoded = encodedPieces(of: bytes)
        guard !encoded.isEmpty else { return Self.replaced(spelled, in: bytes.indices, of: bytes) }
        // A secret may be partly in such a piece, and all of it must go.
        var places: [Range<Int>] = []
        for place in (spelled + encoded).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = places.last, place.lowerBound <= last.upperBound {
                places[places.count - 1] = last.lowerBound..<max(last.upperBound, place.upperBound)
            } else {
                places.append(place)
            }
        }
        return Self.replaced(places, in: bytes.indices, of: bytes)
    }

    /// The pieces between blanks, quotation marks, `<` and `>` that have a secret in another spelling than its own.
    private func encodedPieces(of bytes: [UInt8]) -> [Range<Int>] {
        var pieces: [Range<Int>] = []
        for piece in bytes.split(whereSeparator: { Texts.isBlank($0) || "\"'<>".utf8.contains($0) }) {
            // No spelling of a secret is shorter than the secret. Most pieces have no sign of another spelling.
            guard piece.count >= Self.minimumLength, Self.mayBeEncoded(piece) else { continue }
            let part = piece.startIndex..<piece.endIndex
            if !isClean(part, of: bytes, .plain, scrubbedAsSpelled(part, of: bytes, .plain)) { pieces.append(part) }
        }
        return pieces
    }

    /// Whether a text may spell characters in another way.
    private static func mayBeEncoded(_ text: ArraySlice<UInt8>) -> Bool { text.contains { "\\&%+".utf8.contains($0) } }

    /// Whether a part without the secrets that are in it as they are spelled, `scrubbed`, has none in another spelling.
    private func isClean(_ part: Range<Int>, of bytes: [UInt8], _ spelling: Spelling, _ scrubbed: [UInt8]) -> Bool {
        guard Self.mayBeEncoded(bytes[part]) else { return true }
        let stages = Self.stages(of: bytes[part], spelling)
        let rest = scrubbed.elementsEqual(bytes[part]) ? stages : Self.stages(of: scrubbed[...], spelling)
        return isClean(stages, rest)
    }

    /// Whether no stage of a text has a secret that its rest still has; false when one of them cannot be read.
    private func isClean(_ stages: [[UInt8]], _ rest: [[UInt8]]) -> Bool {
        guard !stages.isEmpty, let lastRest = rest.last else { return false }
        var previous: [UInt8]?
        for (index, text) in stages.enumerated() where text != previous {
            previous = text
            let rest = index < rest.count ? rest[index] : lastRest
            guard hasNoSecret(text, orIs: rest) else { return false }
            guard text.contains(UInt8(ascii: "+")) else { continue }
            // It may be a query, or have one in it, in which `+` is a blank and `%2B` is a plus sign.
            let (query, restOfQuery) = (TextDecoding.withBlanks(text), TextDecoding.withBlanks(rest))
            guard hasNoSecret(query, orIs: restOfQuery) else { return false }
            guard query.contains(UInt8(ascii: "%")) else { continue }
            guard hasNoSecret(PercentEncoding.leniently(query), orIs: PercentEncoding.leniently(restOfQuery)) else { return false }
        }
        return true
    }

    /// Whether a text has no secret, or `rest` is the text without its secrets.
    ///
    /// What was removed may have been only the beginning of a secret, or the wrong one of two.
    private func hasNoSecret(_ text: [UInt8], orIs rest: [UInt8]) -> Bool {
        let clean = scrubbedAsSpelled(text.indices, of: text, .plain)
        return clean == text || clean == rest
    }

    /// The text that bytes spell, and what it is without each further encoding; none when it cannot be read.
    private static func stages(of bytes: ArraySlice<UInt8>, _ spelling: Spelling) -> [[UInt8]] {
        let text: [UInt8]?
        switch spelling {
        case .plain, .xml: text = Array(bytes)
        case .json: text = JSONRedactor.text(of: bytes)
        case .form: text = TextDecoding.withBlanks(Array(bytes))
        }
        return text.map(TextDecoding.stages) ?? []
    }

    private func scrubbedAsSpelled(_ part: Range<Int>, of bytes: [UInt8], _ spelling: Spelling) -> [UInt8] {
        Self.replaced(placesAsSpelled(in: part, of: bytes, spelling), in: part, of: bytes)
    }

    /// Where secrets are in a part as they are spelled, in their order.
    private func placesAsSpelled(in part: Range<Int>, of bytes: [UInt8], _ spelling: Spelling) -> [Range<Int>] {
        var places: [Range<Int>] = []
        var shapes = TokenShapes(in: bytes[part])
        var position = part.lowerBound
        while position < part.upperBound {
            if let end = endOfSecrets(in: bytes, at: position, upTo: part.upperBound, spelling, &shapes) {
                places.append(position..<end)
                position = end
            } else {
                position = Self.endOfUnit(in: bytes[..<part.upperBound], at: position, spelling)
            }
        }
        return places
    }

    /// A part with `REDACTED` in places that are in their order and apart from each other.
    private static func replaced(_ places: [Range<Int>], in part: Range<Int>, of bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(part.count)
        var position = part.lowerBound
        for place in places {
            output += bytes[position..<place.lowerBound]
            output += RedactedText.plain.utf8
            position = place.upperBound
        }
        output += bytes[position..<part.upperBound]
        return output
    }

    /// Where a secret ends that begins at a position, with those that begin inside it or where it ends; nil when none begins there.
    private func endOfSecrets(
        in bytes: [UInt8], at position: Int, upTo limit: Int, _ spelling: Spelling, _ shapes: inout TokenShapes
    ) -> Int? {
        /// A noted secret may be longer than the part: what the part has of it goes.
        func longest(at begin: Int) -> Int? {
            let noted = secrets.end(in: bytes, at: begin)
            guard let shape = shapes.end(at: begin) else { return noted }
            return max(shape, noted ?? shape)
        }
        guard var last = longest(at: position) else { return nil }
        var end = position
        var begin = position
        while true {
            while end < min(last, limit) { end = Self.endOfUnit(in: bytes[..<limit], at: end, spelling) }
            begin += 1
            guard begin <= end, begin < limit else { return end }
            last = longest(at: begin) ?? end
        }
    }

    /// The end of an escape sequence in a JSON string, of a reference in XML, or of a byte.
    private static func endOfUnit(in bytes: ArraySlice<UInt8>, at position: Int, _ spelling: Spelling) -> Int {
        let next = position + 1
        switch spelling {
        case .json where bytes[position] == UInt8(ascii: "\\") && next < bytes.endIndex:
            return min(bytes.endIndex, position + (bytes[next] == UInt8(ascii: "u") ? 6 : 2))
        case .xml where bytes[position] == UInt8(ascii: "&"): return References.end(in: bytes[next...]) ?? next
        default: return next
        }
    }
}
