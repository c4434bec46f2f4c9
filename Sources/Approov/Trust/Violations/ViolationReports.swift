public import CertificatePinning
public import Foundation
public import HTTPClient

/// Where violations are reported, and as whom.
///
/// Each is one POST of JSON in the schema of TrustKit, which report servers for apps understand. An identical report, dates aside, is
/// sent once in 24 hours, and of different ones at most 256 in that time. Reports go over a connection of their own, validated by path
/// alone; a server that cannot be reached is left alone for a minute, and no request waits for any of it.
///
/// What a Linux process cannot know stands for itself: `app-platform` is `LINUX`, `app-platform-version` the system's name,
/// `app-vendor-id` is `unknown` unless it is given here, `trustkit-version` names this package, and `validation-result` never says 3, 4
/// or 5: parameters are checked before, there are no anchors of a device's user, and every key can be hashed. Where the path does not
/// validate (2), `validated-certificate-chain` is what the server sent.
public struct ViolationReports: Sendable {
    /// Where reports go.
    public var url: URL
    /// The roots for the report server; nil: those of the system.
    public var anchors: TrustAnchors?
    /// `app-bundle-id`.
    public var appID: String
    /// `app-version`.
    public var appVersion: String
    /// `app-vendor-id`: what tells installations apart, if anything shall.
    public var vendorID: String
    /// What sends reports; nil: a transport of its own for each.
    public var transport: (any HTTPTransport)?

    /// Says where to.
    ///
    /// - Parameters:
    ///   - url: An https URL; plain http for loopback addresses only. Anything else is an error where the trust manager is first used.
    ///   - anchors: The roots for the report server; nil: those of the system.
    ///   - appID: The app's name; nil: that of its executable.
    ///   - appVersion: The app's version.
    ///   - vendorID: What tells installations apart; by default nothing does.
    ///   - transport: What sends reports; nil: a transport of its own for each.
    public init(
        to url: URL, anchors: TrustAnchors? = nil, appID: String? = nil, appVersion: String = "unknown", vendorID: String = "unknown",
        transport: (any HTTPTransport)? = nil
    ) {
        self.url = url
        self.anchors = anchors
        self.appID = appID ?? URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().lastPathComponent
        self.appVersion = appVersion
        self.vendorID = vendorID
        self.transport = transport
    }

    /// Where reports go, checked.
    ///
    /// - Throws: ``ApproovError`` `configurationError`.
    func target() throws -> TransportURL {
        let target: TransportURL
        do {
            target = try TransportURL(url)
        } catch {
            throw ApproovError(.configurationError, "violations cannot be reported to this URL", cause: error)
        }
        guard target.isSecure || target.host.isLoopback else {
            throw ApproovError(
                .configurationError, "violations are reported over https, and over http to this machine only, not to \(target.host)")
        }
        return target
    }

    /// What the report server must satisfy: path validation, and no pins, which may be what is wrong.
    ///
    /// - Throws: `PinningError` when there are no roots.
    func policy() throws -> TrustPolicy {
        TrustPolicy(rules: try HostMap([]), defaultAnchors: try anchors ?? TrustAnchors.system())
    }
}
