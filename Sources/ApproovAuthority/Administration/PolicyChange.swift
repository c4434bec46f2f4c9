/// A change of the account's policy, of one setting or of several together; nil keeps a setting.
package struct PolicyChange: Sendable {
    let rejectionReasons: Bool?
    let audience: Bool?
    let issuer: Bool?
    let subject: Bool?
    let installationKey: Bool?
    let acceptsDevelopmentKey: Bool?
    let environment: [RejectionReason: EnvironmentAction]

    /// Names the new settings.
    /// - Parameters:
    ///   - rejectionReasons: Whether results tell the app why its evidence was rejected.
    ///   - audience: Whether tokens name their host.
    ///   - issuer: Whether tokens name the account.
    ///   - subject: Whether tokens name the device.
    ///   - installationKey: Whether tokens have the installation's public key.
    ///   - acceptsDevelopmentKey: Whether the development key lets builds pass that are not registered.
    ///   - environment: The actions of environment flags; other flags keep theirs.
    package init(
        rejectionReasons: Bool? = nil, audience: Bool? = nil, issuer: Bool? = nil, subject: Bool? = nil, installationKey: Bool? = nil,
        acceptsDevelopmentKey: Bool? = nil, environment: [RejectionReason: EnvironmentAction] = [:]
    ) {
        self.rejectionReasons = rejectionReasons
        self.audience = audience
        self.issuer = issuer
        self.subject = subject
        self.installationKey = installationKey
        self.acceptsDevelopmentKey = acceptsDevelopmentKey
        self.environment = environment
    }

    /// The new values of the switches, by the columns of the account's row.
    var switches: [(column: String, isOn: Bool)] {
        let all = [
            ("rejectionReasons", rejectionReasons), ("audience", audience), ("issuer", issuer), ("subject", subject),
            ("installationKey", installationKey), ("acceptsDevelopmentKey", acceptsDevelopmentKey),
        ]
        return all.compactMap { column, isOn in isOn.map { (column: column, isOn: $0) } }
    }
}
