/// What happened to the dynamic configuration.
public enum ConfigurationEvent: Sendable {
    /// A new version is in force.
    case accepted(version: Int64)
    /// What was offered, or was found stored, breaks a rule or is older; the one in force stays.
    case refused(ApproovError)
    /// A version is in force but could not be stored. Storing is tried again; until it succeeds, a restart returns to what is stored.
    ///
    /// Sent once for each version.
    case notStored(ApproovError)
    /// What was stored does not verify and was set aside; at a start the initial configuration serves, later the one in force.
    case setAside(ApproovError)
    /// Other users had rights to the stored configuration, or may write to its folder. The message says what was corrected, or what you
    /// are to do. What is stored verifies and serves.
    case exposed(ApproovError)
    /// Hosts whose pins are past their date; the pins stay in force.
    case pinsPastTheirDate(hosts: [String])
    /// The version in force is past its date. Its pins stay in force, and the authority is asked for a newer one with the next requests.
    ///
    /// Sent once for each version.
    case expired(version: Int64)
}
