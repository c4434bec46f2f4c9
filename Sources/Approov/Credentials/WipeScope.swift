public import CertificatePinning

/// What ``ApproovSession/wipe(_:)`` wipes.
public struct WipeScope: Sendable {
    /// Nil for everything.
    let hosts: [HostPattern]?

    /// Every request of the session, and the tokens and cookies of the hosts that get its credential; of all hosts in a session
    /// without a credential.
    public static let all = WipeScope(hosts: nil)

    /// The requests to some hosts, and the tokens and cookies of these hosts.
    ///
    /// - Parameter hosts: The hosts.
    /// - Returns: The scope.
    public static func hosts(_ hosts: [HostPattern]) -> WipeScope { WipeScope(hosts: hosts) }
}
