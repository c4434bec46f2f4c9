internal import CLibSecret
internal import OAuth2

/// Why a call to the Secret Service failed.
///
/// It has the name of the error, and not the text, which another program wrote.
struct SecretServiceFailure: Error, CustomStringConvertible {
    enum Kind {
        /// The caller's task or the timeout ended the call.
        case cancelled
        /// There is no bus, or it cannot be used.
        case noBus
        /// No program on the bus is the Secret Service.
        case noService
        /// The service or the bus ended, or it was started again and does not know this client any more.
        case ended
        /// The keyring is locked, and the user did not unlock it.
        case locked
        /// Another error of the service.
        case refused
    }

    let kind: Kind
    let description: String

    /// The failure of a call that returned without an error of GLib.
    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// Takes over an error of GLib.
    ///
    /// - Parameters:
    ///   - error: The error, which is freed.
    ///   - other: What an error means that has no other meaning.
    init(_ error: UnsafeMutablePointer<GError>, otherwise other: Kind) {
        defer { g_error_free(error) }
        if let name = g_dbus_error_get_remote_error(error) {
            defer { g_free(name) }
            description = String(cString: name)
            kind = Self.kind(remote: description) ?? other
        } else {
            description = "\(String(cString: g_quark_to_string(error.pointee.domain))) \(error.pointee.code)"
            kind = Self.kind(local: error.pointee) ?? other
        }
    }

    /// The kind of an error that came over the bus.
    private static func kind(remote name: String) -> Kind? {
        switch name {
        case "org.freedesktop.Secret.Error.IsLocked": .locked
        case "org.freedesktop.Secret.Error.NoSession", "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected":
            .ended
        case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner": .noService
        default: name.hasPrefix("org.freedesktop.DBus.Error.Spawn.") ? .noService : nil
        }
    }

    private static func kind(local error: GError) -> Kind? {
        switch error.domain {
        case g_io_error_quark():
            switch GIOErrorEnum(rawValue: UInt32(bitPattern: error.code)) {
            case G_IO_ERROR_CANCELLED: .cancelled
            case G_IO_ERROR_CLOSED, G_IO_ERROR_BROKEN_PIPE, G_IO_ERROR_TIMED_OUT: .ended
            default: nil
            }
        case secret_error_get_quark(): error.code == SECRET_ERROR_IS_LOCKED.rawValue ? .locked : nil
        default: nil
        }
    }

    /// The error for the caller of the store.
    var described: OAuth2Error {
        let message =
            switch kind {
            case .cancelled: "the call to the Secret Service was cancelled; repeat it"
            case .noBus:
                "there is no session bus, so the user's keyring cannot be reached; start the program in a desktop session or with "
                    + "dbus-run-session, or use FileTokenStore"
            case .noService:
                "no program on the session bus is a Secret Service; install and start one, such as gnome-keyring, or use FileTokenStore"
            case .ended: "the Secret Service ended during the call; start it again, and repeat the call"
            case .locked: "the user's keyring is locked; let the user unlock it, and repeat the call"
            case .refused: "the Secret Service refused the call; look at its log, and check that it has a default keyring"
            }
        var error = OAuth2Error(.storeFailed, message, cause: self)
        error.isUnanswered = kind == .locked
        return error
    }

    /// The error after the timeout.
    static func tookTooLong(_ timeout: Duration) -> OAuth2Error {
        var error = OAuth2Error(
            .storeFailed,
            "the Secret Service did not answer within \(timeout); the user may not have unlocked the keyring: let the user unlock it, and "
                + "repeat the call")
        error.isUnanswered = true
        return error
    }
}
