/// How the parts of a message are delimited (RFC 9292 sections 3.1 and 3.2).
public enum BinaryHTTPFraming: Sendable, Hashable {
    /// Every section carries its length; what every deployed gateway reads.
    case knownLength
    /// Sections end with a terminator; for content whose length is not known yet.
    case indeterminateLength
}

/// Zero bytes behind a message that hide its length (RFC 9292, section 3.8).
public enum BinaryHTTPPadding: Sendable, Hashable {
    /// No padding.
    case none
    /// Padmé: the length is rounded up so that at most one more than log2(log2(length)) of its leading bits say anything.
    ///
    /// Costs less than 12 % of the message, less the longer it is. (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and
    /// Communication with PURBs", 2019, section 4.)
    case padme
    /// Padmé from 1 KiB on, and 1 KiB for everything shorter: what the channel and the gateway use.
    ///
    /// In Padmé's own classes for small messages, which are 16 bytes wide, two short answers could be told apart.
    case sizeClasses

    /// The length of a message of `count` bytes with its padding.
    ///
    /// - Parameter count: bytes of the message without padding.
    /// - Returns: `count` or more.
    public func paddedSize(of count: Int) -> Int {
        guard self != .none else { return count }
        if self == .sizeClasses, count <= 1_024 { return 1_024 }
        guard count >= 2 else { return count }
        let exponent = Int.bitWidth - 1 - count.leadingZeroBitCount
        let keptBits = Int.bitWidth - exponent.leadingZeroBitCount
        let mask = 1 << (exponent - keptBits) - 1
        let (sum, overflow) = count.addingReportingOverflow(mask)
        return overflow ? count : sum & ~mask
    }
}

/// What a message begins with (RFC 9292, section 3.3).
enum FramingIndicator {
    static let knownLengthRequest: UInt8 = 0
    static let knownLengthResponse: UInt8 = 1
    static let indeterminateLengthRequest: UInt8 = 2
    static let indeterminateLengthResponse: UInt8 = 3
}
