import HTTPTypes

/// The control data of requests and responses (RFC 9292, sections 3.4 and 3.5).
enum ControlData {
    /// The parts that a request's control data has; the rules depend on them.
    struct Shape {
        var isConnect: Bool
        var hasScheme: Bool
        var hasAuthority: Bool
        var hasPath: Bool

        /// Requires scheme and path, or CONNECT without both (RFC 9113, sections 8.3.1 and 8.5; RFC 8441, section 4).
        func check(hasProtocol: Bool, _ code: OHTTPError.Code) throws(OHTTPError) {
            if isConnect, !hasProtocol {
                guard !hasScheme, !hasPath, hasAuthority else {
                    throw OHTTPError(code, "a CONNECT request must have an authority, but no scheme and no path (RFC 9113, section 8.5)")
                }
            } else {
                guard hasScheme, hasPath else {
                    throw OHTTPError(
                        code, "a request must have a scheme and a path; for a URL without a path use / (RFC 9113, section 8.3.1)")
                }
            }
        }
    }

    /// Reads the control data at `offset` as a request without fields; nil when bytes are missing.
    static func request(
        _ bytes: Span<UInt8>, at offset: inout Int, limits: BinaryHTTPLimits
    ) throws(OHTTPError) -> (head: HTTPRequest, shape: Shape)? {
        var end = offset
        var room = max(limits.controlDataBytes, 0)
        guard let method = try part(bytes, at: &end, room: &room), let scheme = try part(bytes, at: &end, room: &room),
            let authority = try part(bytes, at: &end, room: &room), let path = try part(bytes, at: &end, room: &room)
        else { return nil }
        offset = end
        guard isVisible(bytes.extracting(method)), let method = HTTPRequest.Method(String(ascii: bytes.extracting(method))) else {
            throw OHTTPError(.malformedMessage, "the method is not a token (RFC 9110, section 9.1)")
        }
        guard isVisible(bytes.extracting(scheme)), isVisible(bytes.extracting(authority)), isVisible(bytes.extracting(path)) else {
            throw OHTTPError(.malformedMessage, "the scheme, authority or path contains a byte that is not visible ASCII")
        }
        let head = HTTPRequest(method: method, scheme: text(bytes, scheme), authority: text(bytes, authority), path: text(bytes, path))
        let shape = Shape(
            isConnect: method == .connect, hasScheme: !scheme.isEmpty, hasAuthority: !authority.isEmpty, hasPath: !path.isEmpty)
        return (head, shape)
    }

    /// Appends the control data of a request.
    static func append(_ request: HTTPRequest, hasProtocol: Bool, to bytes: inout [UInt8]) throws(OHTTPError) {
        let method = request.method.rawValue
        let scheme = request.scheme ?? ""
        let authority = request.authority ?? ""
        let path = request.path ?? ""
        let shape = Shape(
            isConnect: method == "CONNECT", hasScheme: !scheme.isEmpty, hasAuthority: !authority.isEmpty, hasPath: !path.isEmpty)
        try shape.check(hasProtocol: hasProtocol, .unencodable)
        try append(method, to: &bytes)
        try append(scheme, to: &bytes)
        try append(authority, to: &bytes)
        try append(path, to: &bytes)
    }

    private static func append(_ value: String, to bytes: inout [UInt8]) throws(OHTTPError) {
        guard isVisible(value.utf8.span) else {
            throw OHTTPError(.unencodable, "scheme, authority and path must be visible ASCII; percent-encode other characters")
        }
        VariableLengthInteger.append(value.utf8.count, to: &bytes)
        bytes.append(contentsOf: value.utf8)
    }

    /// Appends the status of a final or informational response.
    static func append(_ response: HTTPResponse, isFinal: Bool, to bytes: inout [UInt8]) throws(OHTTPError) {
        let code = response.status.code
        guard (isFinal ? 200...599 : 100...199).contains(code) else {
            throw OHTTPError(
                .unencodable, "the status of a final response must be 200 to 599, and that of an informational one 100 to 199, not \(code)")
        }
        VariableLengthInteger.append(code, to: &bytes)
    }

    private static func part(_ bytes: Span<UInt8>, at offset: inout Int, room: inout Int) throws(OHTTPError) -> Range<Int>? {
        guard let length = VariableLengthInteger.read(bytes, at: &offset) else { return nil }
        guard length <= UInt64(room) else {
            throw OHTTPError(.limitExceeded, "method, scheme, authority and path together exceed the limit controlDataBytes")
        }
        room -= Int(length)
        let range = offset..<offset + Int(length)
        guard range.upperBound <= bytes.count else { return nil }
        offset = range.upperBound
        return range
    }

    /// The text of a part; an empty part counts as absent (RFC 9292, section 3.4).
    private static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String? {
        range.isEmpty ? nil : String(ascii: bytes.extracting(range))
    }

    private static func isVisible(_ bytes: Span<UInt8>) -> Bool {
        // A loop without an early exit is vectorised.
        bytes.withUnsafeBufferPointer { $0.reduce(0 as UInt8) { $0 | ($1 &- 0x21 > 0x5d ? 1 : 0) } == 0 }
    }
}
