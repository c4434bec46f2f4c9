@_spi(Internals) import ApproovBase
public import CertificatePinning
import HTTPTypes

/// The credential that a session adds to its requests, and the hosts that may see it.
public struct SessionCredential: Sendable {
    /// The name of the header, as the caller gave it.
    let headerName: String
    let holder: CredentialHolder
    let hosts: [HostPattern]
    /// Whether a change of the user wipes what the session has of the previous one.
    let wipesOnChange: Bool

    /// Describes a credential that a header carries.
    ///
    /// - Parameters:
    ///   - name: The name of the header, such as Authorization.
    ///   - holder: Holds the header's value, which may change at any time.
    ///   - hosts: The hosts that may see it; no other host gets it, not even by a redirect.
    ///   - wipesOnChange: Whether a change of the user wipes the session; see ``ApproovSession/wipe(_:)``. If false, requests in flight go
    ///     on when the user changes, and their responses reach the caller. A request that would need the credential after the change, such
    ///     as one that waits at a gate or for a retry, or follows a redirect, fails with code `credentialMissing`.
    /// - Returns: The credential.
    public static func header(
        _ name: String, _ holder: CredentialHolder, for hosts: [HostPattern], wipesOnChange: Bool = true
    ) -> SessionCredential {
        SessionCredential(headerName: name, holder: holder, hosts: hosts, wipesOnChange: wipesOnChange)
    }

    /// Whether a host may see the credential.
    func isMeant(for host: CanonicalHost) -> Bool { hosts.contains { $0.matches(host) } }

    /// Reads the name of a header that carries a credential.
    ///
    /// - Throws: ``ApproovError`` with code `initializationError` when it is malformed.
    static func name(_ text: String) throws -> HTTPField.Name {
        guard let name = HTTPField.Name(text), !text.hasPrefix(":") else {
            throw ApproovError(.initializationError, "\"\(LoggableText.name(text))\" is not the name of a header")
        }
        return name
    }

    /// Checks the hosts of a credential.
    ///
    /// - Throws: ``ApproovError`` with code `initializationError` when there are none.
    static func checked(_ hosts: [HostPattern]) throws -> [HostPattern] {
        guard !hosts.isEmpty else {
            throw ApproovError(.initializationError, "the credential has no hosts: name at least one host that may receive it")
        }
        return hosts
    }
}
