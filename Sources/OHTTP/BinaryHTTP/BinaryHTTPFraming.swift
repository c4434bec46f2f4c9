/// How the parts of a message are delimited (RFC 9292, sections 3.1 and 3.2).
public enum BinaryHTTPFraming: Sendable, Hashable {
    /// Every section carries its length; every deployed gateway reads this form.
    case knownLength
    /// Sections end with a terminator; for content whose length is not yet known.
    case indeterminateLength
}

/// The first byte of a message (RFC 9292, section 3.3).
enum FramingIndicator {
    static let knownLengthRequest: UInt8 = 0
    static let knownLengthResponse: UInt8 = 1
    static let indeterminateLengthRequest: UInt8 = 2
    static let indeterminateLengthResponse: UInt8 = 3
}
