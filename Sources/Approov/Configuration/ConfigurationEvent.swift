/// A change or a problem of the dynamic configuration.
public enum ConfigurationEvent: Sendable {
    /// A new version came into force.
    case accepted(version: Int64)
    /// A configuration that was offered or found in the store breaks a rule or is older; the one in force stays.
    case refused(ApproovError)
    /// A version is in force but could not be stored.
    ///
    /// The service keeps trying to store it. Until that succeeds, a restart begins with the version in the store. Sent once per version.
    case notStored(ApproovError)
    /// The stored configuration did not verify, or is older than the initial one, and was set aside.
    ///
    /// At a start, the initial configuration is used instead; later, the one in force stays.
    case setAside(ApproovError)
    /// Other users had access to the stored configuration, or can write to its folder.
    ///
    /// The message says what was corrected, or what the operator must do. The stored configuration verified and is used.
    case exposed(ApproovError)
    /// The pins of these hosts are past their expiry date; they stay in force.
    case pinsPastTheirDate(hosts: [String])
    /// The version in force is past its expiry date.
    ///
    /// Its pins stay in force, and the service asks the authority for a newer version with the next requests. Sent once per version.
    case expired(version: Int64)
}
