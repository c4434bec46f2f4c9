/// A token for a device code (RFC 8628, section 3.4); one question of several.
///
/// ``OAuth2Endpoints/token(for:)`` asks until the user has answered.
public struct DeviceCodeGrant: TokenGrant, CustomStringConvertible, CustomReflectable {
    private let deviceCode: String

    /// Makes the grant.
    ///
    /// - Parameter authorization: The server's answer to the request for a device code.
    public init(_ authorization: DeviceAuthorization) { deviceCode = authorization.deviceCode }

    /// The parameters of the token request.
    ///
    /// - Returns: Names and values.
    /// - Throws: Nothing.
    public func parameters() async throws -> [(name: String, value: String)] {
        [("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", deviceCode)]
    }

    /// Always the same: the code is not shown.
    public var description: String { "DeviceCodeGrant" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
