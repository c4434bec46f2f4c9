public import CertificatePinning

extension APIEnvironment {
    /// Returns this environment with a client certificate (mutual TLS, RFC 8446, section 4.3.2).
    ///
    /// ```swift
    /// let identity = try ClientIdentity(certificateFile: "staging.pem", privateKeyFile: "staging-key.pem")
    /// try api.use(APIEnvironment.named("staging", from: file).presenting(identity))
    /// ```
    ///
    /// An ``EnvironmentSession`` shows it only to servers of the base URL's host that passed every check, and only while the environment is
    /// in use. A local environment shows it to no server.
    ///
    /// - Parameter identity: The certificate with its key.
    /// - Returns: The environment with this certificate.
    /// - Throws: ``APIError`` with code `invalidEnvironment` for ``Trust/dangerouslyDisabled``, because no stranger may see the certificate,
    ///   and for ``Trust/pinned`` without ``pins``, because a host that the account does not protect would then pass without pins.
    public func presenting(_ identity: ClientIdentity) throws -> APIEnvironment {
        guard trust != .dangerouslyDisabled else {
            throw APIError(
                .invalidEnvironment,
                "the environment \(name) sets trust to dangerouslyDisabled, so any server could ask for the client certificate: use"
                    + " pathValidation or pinned")
        }
        if case .remote = source, trust == .pinned, pins.isEmpty {
            throw APIError(
                .invalidEnvironment,
                "the environment \(name) sets trust to pinned but has no pins, so it cannot present a client certificate: add pins, or use"
                    + " pathValidation, which still enforces the pins of the account's protected hosts")
        }
        var environment = self
        environment.clientIdentity = identity
        return environment
    }
}
