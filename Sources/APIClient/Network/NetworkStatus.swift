/// Whether the machine has a network.
public enum NetworkStatus: Sendable, Hashable {
    /// An interface other than the loopback interface is up and has a default route, or several routes in place of it.
    ///
    /// A server may still not answer.
    case reachable
    /// No interface has a default route or routes in place of it.
    case unreachable
    /// The system does not tell; requests do not wait.
    case unknown
}
