public import Foundation

/// The server's response to a request for a device code (RFC 8628, section 3.2): what the app shows to the user.
///
/// Descriptions and reflections do not show the codes.
public struct DeviceAuthorization: Sendable, CustomStringConvertible, CustomReflectable {
    let deviceCode: String
    /// The code that the user types at ``verificationURI``.
    public let userCode: String
    /// The page that the user opens on another device.
    public let verificationURI: URL
    /// The same page with the code already in it, for a QR code; nil if the server sent none.
    public let verificationURIComplete: URL?
    /// How long the codes are valid, from the moment of the response.
    public let lifetime: Duration
    /// The shortest pause between two polls.
    public let interval: Duration
    /// The clock's uptime at which the codes expire.
    let deadline: Duration

    /// Where the user goes, without the codes.
    public var description: String { "DeviceAuthorization(\(verificationURI.host() ?? ""))" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
