/// A flaw of a certificate that ``TestPKI`` mints.
///
/// Flaws can be combined.
public enum TestFlaw: Hashable, Sendable, CaseIterable {
    /// The validity ended a day ago.
    case expired
    /// The validity begins in a day.
    case notYetValid
    /// The subject alternative name is `wrong-host.test` in place of the hosts.
    case wrongHost
    /// The subject alternative name is missing; the host is in the common name only (refused since RFC 9525).
    case commonNameOnly
    /// The extended key usage allows client authentication only.
    case clientAuthOnly
    /// A leaf says CA:TRUE.
    case leafIsCA
    /// A certificate authority says CA:FALSE.
    case notACA
    /// A certificate authority has no basic constraints.
    case noBasicConstraints
    /// A certificate authority's key usage lacks keyCertSign.
    case wrongKeyUsage
    /// One bit of the signature is flipped.
    case badSignature
    /// An unknown extension is marked critical (RFC 5280, section 4.2).
    case unknownCriticalExtension
}
