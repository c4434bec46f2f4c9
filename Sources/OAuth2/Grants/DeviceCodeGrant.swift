/// One request of several for the token of a device code (RFC 8628, section 3.4).
///
/// ``OAuth2Endpoints/token(for:additionalParameters:)`` asks until the user has answered.
public struct DeviceCodeGrant: TokenGrant, CustomStringConvertible, CustomReflectable {
    private let deviceCode: String
    /// Further parameters that the server wants, such as `resource` or `audience`; empty by default.
    ///
    /// They cannot replace a parameter of the grant or of the client, nor the scope.
    public var additionalParameters: [(name: String, value: String)]

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - authorization: The server's response to the request for a device code.
    ///   - additionalParameters: Further parameters that the server wants.
    public init(_ authorization: DeviceAuthorization, additionalParameters: [(name: String, value: String)] = []) {
        deviceCode = authorization.deviceCode
        self.additionalParameters = additionalParameters
    }

    /// The parameters of the token request.
    ///
    /// - Returns: Names and values.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when an additional parameter has the name of one that the grant, the client
    ///   or the scope has, has no name, or is given twice.
    public func parameters() async throws -> [(name: String, value: String)] {
        try withAdditional(
            additionalParameters, [("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", deviceCode)])
    }

    /// Always the same: the code is not shown.
    public var description: String { "DeviceCodeGrant" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
