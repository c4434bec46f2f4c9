import Foundation
import HTTPTypes

/// Reads a Binary HTTP message however its bytes are split; the public parsers and the whole-message initialisers use it.
///
/// Between calls it keeps only the bytes of an incomplete part, which the limits bound. It never waits for more content to arrive, but
/// passes on what it has.
struct MessageParser {
    enum Kind { case request, response }

    /// A part of the message; parts come in this order.
    ///
    /// `body` can occur any number of times, `trailers` only if not empty.
    enum Part {
        case requestHead(HTTPRequest)
        case informational(HTTPResponse)
        case responseHead(HTTPResponse)
        case body(Data)
        case trailers(HTTPFields)
        case end
    }

    private enum State {
        case framing
        case requestControl
        case responseControl
        case requestFields(HTTPRequest, ControlData.Shape)
        case responseFields(HTTPResponse, isInformational: Bool)
        case contentLength
        case content(remaining: Int)
        case trailers
        case padding(remaining: Int)
        /// `next` has returned `end`.
        case done
        case failed(OHTTPError)
    }

    /// The result of one step.
    private enum Step {
        case part(Part)
        case again
        case needsBytes
    }

    /// How much longer than the message its padding may be, in bytes.
    ///
    /// The padding of a stream must end, even when its content need not. Senders that pad to a power of two double a message at most, and
    /// those that pad all short messages alike need a fixed allowance.
    static let paddingAllowance = 1 << 20

    /// Content chunks of fewer bytes are joined.
    private static let smallChunk = 1_024
    /// How many bytes of small chunks are joined, about.
    private static let joinedBytes = 64 << 10

    private let kind: Kind
    private let limits: BinaryHTTPLimits
    private var buffer: Data
    /// The position in `buffer`, relative to its start, which in a slice is not index 0.
    private var offset = 0
    /// The number of bytes of the message before `buffer`.
    private var consumed = 0
    private var isAtEnd: Bool
    private var state = State.framing
    private var isKnownLength = true
    /// A section of an indeterminate-length message that has begun but not ended.
    private var openSection: FieldSection?
    private var informationalResponses = 0
    private var bodyBytes = 0

    /// Makes a parser; with `isWhole`, `bytes` are the whole message.
    init(_ kind: Kind, limits: BinaryHTTPLimits, bytes: Data = Data(), isWhole: Bool = false) {
        self.kind = kind
        self.limits = limits
        buffer = bytes
        isAtEnd = isWhole
    }

    mutating func append(_ bytes: Data) throws(OHTTPError) {
        guard !isAtEnd else { throw OHTTPError(.finished, "the caller added bytes to a message that it had declared complete") }
        if offset == buffer.count {
            buffer = bytes
        } else if offset == 0 {
            buffer.append(bytes)
        } else {
            var joined = Data(capacity: buffer.count - offset + bytes.count)
            joined.append(buffer.dropFirst(offset))
            joined.append(bytes)
            buffer = joined
        }
        consumed += offset
        offset = 0
    }

    mutating func finish() {
        isAtEnd = true
    }

    /// The next part, or nil when more bytes are needed.
    mutating func next() throws(OHTTPError) -> Part? {
        do {
            // All steps share one span, because each access to the buffer costs an exclusivity check.
            let whole = buffer
            let bytes = whole.span
            while true {
                switch try step(bytes) {
                case .part(let part): return part
                case .again: continue
                case .needsBytes: return nil
                }
            }
        } catch {
            state = .failed(error)
            throw error
        }
    }

    private mutating func step(_ bytes: Span<UInt8>) throws(OHTTPError) -> Step {
        switch state {
        case .framing: try readFraming(bytes)
        case .requestControl: try readRequestControl(bytes)
        case .responseControl: try readStatus(bytes)
        case .requestFields(let head, let shape): try readFields(bytes, of: head, shape)
        case .responseFields(let head, let isInformational): try readFields(bytes, of: head, isInformational: isInformational)
        case .contentLength: try readContentLength(bytes)
        case .content(let remaining): try readContent(bytes, remaining: remaining)
        case .trailers: try readTrailers(bytes)
        case .padding(let remaining): try readPadding(bytes, remaining: remaining)
        case .done: .needsBytes
        case .failed(let error): throw error
        }
    }

    // MARK: Head

    private mutating func readFraming(_ bytes: Span<UInt8>) throws(OHTTPError) -> Step {
        guard let indicator = VariableLengthInteger.read(bytes, at: &offset) else { return try needBytes() }
        switch (kind, indicator) {
        case (.request, 0), (.response, 1): isKnownLength = true
        case (.request, 2), (.response, 3): isKnownLength = false
        case (_, 0...3):
            throw OHTTPError(
                .malformedMessage,
                kind == .request ? "the message is a response, not a request" : "the message is a request, not a response")
        default: throw OHTTPError(.malformedMessage, "the framing indicator is not 0, 1, 2 or 3 (RFC 9292, section 3.3)")
        }
        state = kind == .request ? .requestControl : .responseControl
        return .again
    }

    private mutating func readRequestControl(_ bytes: Span<UInt8>) throws(OHTTPError) -> Step {
        guard let control = try ControlData.request(bytes, at: &offset, limits: limits) else { return try needBytes() }
        // The head goes into the state only if the parser must wait for the fields.
        let step = try readFields(bytes, of: control.head, control.shape)
        if case .needsBytes = step { state = .requestFields(control.head, control.shape) }
        return step
    }

    private mutating func readStatus(_ bytes: Span<UInt8>) throws(OHTTPError) -> Step {
        guard let status = VariableLengthInteger.read(bytes, at: &offset) else { return try needBytes() }
        guard (100...599).contains(status) else {
            throw OHTTPError(.malformedMessage, "the status is not 100 to 599 (RFC 9292, section 3.5)")
        }
        let head = HTTPResponse(status: .init(code: Int(status)))
        let step = try readFields(bytes, of: head, isInformational: status < 200)
        if case .needsBytes = step { state = .responseFields(head, isInformational: status < 200) }
        return step
    }

    private mutating func readFields(
        _ bytes: Span<UInt8>, of request: HTTPRequest, _ shape: ControlData.Shape
    ) throws(OHTTPError) -> Step {
        guard let section = try readSection(bytes, .request, mayBeAbsent: true) else { return .needsBytes }
        var head = request
        head.headerFields = section.fields
        if let name = section.extendedConnectProtocol { head.extendedConnectProtocol = name }
        try shape.check(hasProtocol: section.extendedConnectProtocol != nil, .malformedMessage)
        state = .contentLength
        return .part(.requestHead(head))
    }

    private mutating func readFields(
        _ bytes: Span<UInt8>, of response: HTTPResponse, isInformational: Bool
    ) throws(OHTTPError) -> Step {
        guard let section = try readSection(bytes, .response, mayBeAbsent: !isInformational) else { return .needsBytes }
        var head = response
        head.headerFields = section.fields
        guard isInformational else {
            state = .contentLength
            return .part(.responseHead(head))
        }
        informationalResponses += 1
        guard informationalResponses <= limits.informationalResponses else {
            throw OHTTPError(.limitExceeded, "the informational responses exceed the limit informationalResponses")
        }
        state = .responseControl
        return .part(.informational(head))
    }

    // MARK: Content

    private mutating func readContentLength(_ bytes: Span<UInt8>) throws(OHTTPError) -> Step {
        if isAtEnd, offset == bytes.count {
            // Content and trailers were omitted. An indeterminate-length message may omit them only if no content came before.
            guard isKnownLength || bodyBytes == 0 else { return try needBytes() }
            return end()
        }
        guard let length = VariableLengthInteger.read(bytes, at: &offset) else { return try needBytes() }
        guard length <= UInt64(max(limits.bodyBytes - bodyBytes, 0)) else {
            throw OHTTPError(.limitExceeded, "the content exceeds the limit bodyBytes")
        }
        bodyBytes += Int(length)
        state = length == 0 ? .trailers : .content(remaining: Int(length))
        return .again
    }

    private mutating func readContent(_ bytes: Span<UInt8>, remaining: Int) throws(OHTTPError) -> Step {
        let count = min(remaining, bytes.count - offset)
        guard count > 0 else { return try needBytes() }
        let start = buffer.startIndex + offset
        offset += count
        if remaining > count {
            state = .content(remaining: remaining - count)
        } else {
            state = isKnownLength ? .trailers : .contentLength
        }
        let content = buffer[start..<start + count]
        guard count < Self.smallChunk, case .contentLength = state else { return .part(.body(content)) }
        return .part(.body(joined(content, bytes)))
    }

    /// Adds the small chunks that follow a small one and are here already: each part that is passed on has a cost, and a message may
    /// consist of chunks of one byte.
    ///
    /// Whatever else follows is left to the next steps: the end, a chunk that is large or incomplete, one above the limit.
    private mutating func joined(_ first: Data, _ bytes: Span<UInt8>) -> Data {
        var joined: [UInt8] = []
        while joined.count < Self.joinedBytes {
            var start = offset
            guard let length = VariableLengthInteger.read(bytes, at: &start), length > 0, length < UInt64(Self.smallChunk),
                start + Int(length) <= bytes.count, Int(length) <= limits.bodyBytes - bodyBytes
            else { break }
            if joined.isEmpty { joined += first }
            for index in start..<start + Int(length) { joined.append(bytes[index]) }
            bodyBytes += Int(length)
            offset = start + Int(length)
        }
        return joined.isEmpty ? first : Data(joined)
    }

    private mutating func readTrailers(_ bytes: Span<UInt8>) throws(OHTTPError) -> Step {
        guard let section = try readSection(bytes, .trailers, mayBeAbsent: true) else { return .needsBytes }
        state = .padding(remaining: consumed + offset + Self.paddingAllowance)
        return section.fields.isEmpty ? .again : .part(.trailers(section.fields))
    }

    private mutating func readPadding(_ bytes: Span<UInt8>, remaining: Int) throws(OHTTPError) -> Step {
        let padding = bytes.extracting(offset...)
        guard padding.count <= remaining else {
            throw OHTTPError(.limitExceeded, "the padding is longer than the message by more than \(Self.paddingAllowance) bytes")
        }
        var bits: UInt8 = 0
        for index in padding.indices { bits |= padding[index] }
        guard bits == 0 else {
            throw OHTTPError(.malformedMessage, "a byte after the message is not zero (RFC 9292, section 3.8)")
        }
        offset = bytes.count
        guard isAtEnd else {
            state = .padding(remaining: remaining - padding.count)
            return .needsBytes
        }
        return end()
    }

    private mutating func end() -> Step {
        state = .done
        return .part(.end)
    }

    // MARK: Field sections

    /// Reads a field section; nil when more bytes are needed.
    private mutating func readSection(
        _ bytes: Span<UInt8>, _ place: FieldSection.Place, mayBeAbsent: Bool
    ) throws(OHTTPError) -> FieldSection? {
        if isAtEnd, mayBeAbsent, offset == bytes.count, openSection == nil { return FieldSection(place) }
        return isKnownLength ? try readKnownSection(bytes, place) : try readIndeterminateSection(bytes, place)
    }

    private mutating func readKnownSection(
        _ bytes: Span<UInt8>, _ place: FieldSection.Place
    ) throws(OHTTPError) -> FieldSection? {
        var start = offset
        guard let length = VariableLengthInteger.read(bytes, at: &start) else { return try lacksBytes() }
        guard length <= UInt64(max(limits.fieldSectionBytes, 0)) else { throw FieldSection.tooLarge }
        let end = start + Int(length)
        guard end <= bytes.count else { return try lacksBytes() }
        var section = FieldSection(place)
        while start < end {
            guard case .field(let next) = try section.readLine(bytes, from: start, to: end, limits: limits) else {
                throw OHTTPError(.malformedMessage, "the length of a field section does not match its fields")
            }
            start = next
        }
        offset = end
        return section
    }

    private mutating func readIndeterminateSection(
        _ bytes: Span<UInt8>, _ place: FieldSection.Place
    ) throws(OHTTPError) -> FieldSection? {
        var section = openSection.take() ?? FieldSection(place)
        while true {
            switch try section.readLine(bytes, from: offset, to: bytes.count, limits: limits) {
            case .field(let end):
                offset = end
            case .terminator(let end):
                offset = end
                return section
            case .incomplete:
                // If no byte of the section has arrived, the message may still end here without it.
                if section.byteCount > 0 { openSection = section }
                return try lacksBytes()
            }
        }
    }

    // MARK: Waiting

    private func needBytes() throws(OHTTPError) -> Step {
        guard isAtEnd else { return .needsBytes }
        throw OHTTPError(.truncatedMessage, "the message ends within one of its parts (RFC 9292, section 3.8)")
    }

    private func lacksBytes() throws(OHTTPError) -> FieldSection? {
        _ = try needBytes()
        return nil
    }
}
