import CertificatePinning

/// The rules for one host, looked up once for a pass of a request and handed on as a value.
///
/// A pass that waited, for example for a token, checks with ``RequestPolicy/areInForce`` whether its rules are still the newest ones.
struct ResolvedHop: Sendable {
    /// The configuration and the trust policy in force when the host was looked up.
    let policy: RequestPolicy
    /// The configuration's rule for the host; nil if the host is not protected.
    let rule: ProtectedHost?
    /// Whether rules of the configuration or of the caller apply to the host's server, so that plain http must not be used.
    let isEvaluated: Bool

    /// Looks up a host.
    ///
    /// - Parameters:
    ///   - host: The host that is called.
    ///   - policy: The configuration and the trust policy in force.
    init(_ host: CanonicalHost, under policy: RequestPolicy) {
        self.policy = policy
        rule = policy.snapshot?.protectedHost(for: host)
        // Every protected host has a trust rule, so only other hosts need the second look-up.
        isEvaluated = rule != nil || policy.trust.hasRule(for: host)
    }

    /// The configuration in force when the host was looked up; nil without a service.
    var snapshot: ConfigurationSnapshot? { policy.snapshot }
}
