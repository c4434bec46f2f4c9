public import CertificatePinning

/// The user whose credential an interceptor adds to requests.
public struct UserScope: Sendable {
    let changes: UserChanges
    let hosts: [HostPattern]

    /// Describes the user.
    ///
    /// - Parameters:
    ///   - changes: Tells when the user changes.
    ///   - hosts: The hosts that get the credential; a change wipes the tokens and cookies of these hosts. Empty for all hosts.
    public init(_ changes: UserChanges, hosts: [HostPattern]) {
        self.changes = changes
        self.hosts = hosts
    }
}
