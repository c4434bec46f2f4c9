/// How much of a message a parser accepts before it refuses the message.
///
/// Every length that a message claims is held against these before anything is kept or reserved for it.
public struct BinaryHTTPLimits: Sendable, Hashable {
    /// The most bytes of a request's method, scheme, authority and path together.
    public var controlDataBytes: Int
    /// The most bytes of one header or trailer section, lengths included.
    public var fieldSectionBytes: Int
    /// The most fields in one header or trailer section; 65,534 at most, whatever is asked for.
    public var fieldCount: Int
    /// The most informational responses before the final one.
    public var informationalResponses: Int
    /// The most bytes of content.
    ///
    /// A parser hands content out as it comes and keeps none, so that this bounds what the caller gets, not what the parser holds.
    public var bodyBytes: Int

    /// Limits that hold what is common on the web.
    ///
    /// - Parameters:
    ///   - controlDataBytes: of method, scheme, authority and path together.
    ///   - fieldSectionBytes: of one field section.
    ///   - fieldCount: fields in one section.
    ///   - informationalResponses: before the final response.
    ///   - bodyBytes: of content; by default only what the message really holds.
    public init(
        controlDataBytes: Int = 16 * 1024, fieldSectionBytes: Int = 64 * 1024, fieldCount: Int = 1000, informationalResponses: Int = 16,
        bodyBytes: Int = .max
    ) {
        self.controlDataBytes = controlDataBytes
        self.fieldSectionBytes = fieldSectionBytes
        self.fieldCount = fieldCount
        self.informationalResponses = informationalResponses
        self.bodyBytes = bodyBytes
    }

    /// HTTPFields ends the process when it is given more.
    var acceptedFields: Int { min(fieldCount, 65_534) }
}
