internal import Glibc
internal import NIOCore

/// Why a server cannot listen as configured.
package struct ListenerFailure: Error {
    package enum Kind: Sendable {
        /// Plain http on an address that is not loopback.
        case insecure
        /// The certificate or its key does not parse.
        case unreadableIdentity
        /// The port is taken, or the address is not this machine's.
        case cannotListen
        /// A trusted proxy is not an address or a range.
        case malformedProxy
    }

    package let kind: Kind
    /// What happened and the remedy.
    package let message: String
    package var cause: (any Error)?

    package static func insecure(_ host: String) -> ListenerFailure {
        ListenerFailure(
            kind: .insecure, message: "\(host) is not a loopback address, and plain http is allowed only on loopback; serve with TLS")
    }

    static func malformedProxy(_ malformed: AddressRange.Malformed) -> ListenerFailure {
        ListenerFailure(kind: .malformedProxy, message: "trusted proxies: \(malformed.message)")
    }

    static func unreadableIdentity(_ cause: any Error) -> ListenerFailure {
        ListenerFailure(
            kind: .unreadableIdentity,
            message:
                "the TLS certificate or its key cannot be read, or they do not belong together; give both in PEM, the server's own certificate first, "
                + "and the key without a passphrase", cause: cause)
    }

    static func cannotListen(on host: String, port: Int, _ cause: any Error) -> ListenerFailure {
        // SwiftNIO's own text names its internal functions.
        let reason = (cause as? IOError).map { String(cString: strerror($0.errnoCode)) }
        return ListenerFailure(
            kind: .cannotListen,
            message:
                "cannot listen on \(host) port \(port): stop the program that listens there, or choose an address of this machine and a free port; "
                + "port 0 lets the system choose\(reason.map { " (\($0))" } ?? "")", cause: reason == nil ? cause : nil)
    }
}
