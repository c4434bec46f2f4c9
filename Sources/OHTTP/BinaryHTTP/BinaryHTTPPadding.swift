/// Zero bytes after a message that hide its length (RFC 9292, section 3.8).
public enum BinaryHTTPPadding: Sendable, Hashable {
    /// No padding.
    case none
    /// Padmé: rounds the length up so that only the first floor(log2(log2(length))) + 1 bits after its leading 1 can be set.
    ///
    /// Adds less than 12 % to the message, less the longer it is. (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and
    /// Communication with PURBs", 2019, section 4.)
    case padme
    /// Padmé for messages above 1 KiB, and 1 KiB for all shorter ones; the OHTTP channel and the gateway use it.
    ///
    /// Padmé's own classes below 1 KiB are at most 32 bytes wide, so that an observer could tell two short responses apart.
    case sizeClasses

    /// The length of a message with its padding.
    ///
    /// - Parameter count: The length of the message without padding, in bytes.
    /// - Returns: The padded length in bytes, at least `count`.
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
