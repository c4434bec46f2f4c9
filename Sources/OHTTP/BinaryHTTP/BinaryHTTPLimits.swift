/// The sizes up to which a parser accepts a message.
///
/// A parser checks every length that a message claims against these limits before it stores or reserves anything for it. Padding has a fixed
/// limit: it may be 1 MiB longer than the message.
public struct BinaryHTTPLimits: Sendable, Hashable {
    /// The limit of a request's method, scheme, authority and path together, in bytes.
    public var controlDataBytes: Int
    /// The limit of one header or trailer section including its length fields, in bytes.
    public var fieldSectionBytes: Int
    /// The largest number of fields in one header or trailer section; values above 65,534 count as 65,534.
    public var fieldCount: Int
    /// The largest number of informational responses before the final one.
    public var informationalResponses: Int
    /// The limit of the content, in bytes.
    ///
    /// A parser passes content on as it arrives and keeps none. This bounds what the caller receives, not the parser's memory.
    public var bodyBytes: Int

    /// Makes limits; the defaults accept messages that are common on the web.
    ///
    /// - Parameters:
    ///   - controlDataBytes: The limit of method, scheme, authority and path together, in bytes.
    ///   - fieldSectionBytes: The limit of one field section, in bytes.
    ///   - fieldCount: The largest number of fields in one section.
    ///   - informationalResponses: The largest number of responses before the final one.
    ///   - bodyBytes: The limit of the content, in bytes; by default none.
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

    /// The effective field limit: HTTPFields ends the process when it gets more than 65,534.
    var acceptedFields: Int { min(fieldCount, 65_534) }
}
