/// What happened to the dynamic configuration.
public enum ConfigurationEvent: Sendable {
    /// A new version is in force.
    case accepted(version: Int64)
    /// What was offered, or was found stored, breaks a rule or is older; the one in force stays.
    case refused(ApproovError)
    /// What was offered is sound but could not be stored; the one in force stays, and it is asked for again.
    case notStored(ApproovError)
    /// What was stored does not verify and was set aside; at a start the initial configuration serves, later the one in force.
    case setAside(ApproovError)
    /// Hosts whose pins are past their date; the pins stay in force.
    case pinsPastTheirDate(hosts: [String])
}
