import ApproovBase
public import CertificatePinning
public import Foundation
public import HTTPClient

/// Where violations are reported, and the app's identity in the reports.
///
/// Each report is one POST of JSON in TrustKit's schema, which report servers for apps understand. An identical report, dates aside, is
/// sent once in 24 hours; at most 256 different ones are sent in that time. Reports use a separate connection with path validation and
/// no pins. After a failure, nothing is reported for one minute. No request waits for a report.
///
/// Members that have no equivalent on Linux are filled as follows: `app-platform` is `LINUX`, `app-platform-version` is the system's
/// name, `app-vendor-id` is `unknown` unless given here, and `trustkit-version` names this package. `validation-result` is never 3, 4 or
/// 5: parameters are checked beforehand, Linux has no trust anchors set by a device's user, and every key can be hashed. If the path is
/// invalid (2), `validated-certificate-chain` contains what the server sent.
public struct ViolationReports: Sendable {
    /// The URL that reports are posted to.
    public var url: URL
    /// The roots for the report server; nil means the system's.
    public var anchors: TrustAnchors?
    /// The app's name, sent as `app-bundle-id`.
    public var appID: String
    /// The app's version, sent as `app-version`.
    public var appVersion: String
    /// An identifier of the installation, if you want one; sent as `app-vendor-id`.
    public var vendorID: String
    /// Sends the reports; nil means a new transport for each report.
    public var transport: (any HTTPTransport)?

    /// Sets where and as whom to report.
    ///
    /// - Parameters:
    ///   - url: An https URL; http is allowed for loopback addresses only. An unusable URL is reported at the trust manager's first use.
    ///   - anchors: The roots for the report server; nil means the system's.
    ///   - appID: The app's name; nil means the name of its executable.
    ///   - appVersion: The app's version.
    ///   - vendorID: An identifier of the installation; by default reports do not identify it.
    ///   - transport: Sends the reports; nil means a new transport for each report.
    public init(
        to url: URL, anchors: TrustAnchors? = nil, appID: String? = nil, appVersion: String = "unknown", vendorID: String = "unknown",
        transport: (any HTTPTransport)? = nil
    ) {
        self.url = url
        self.anchors = anchors
        self.appID = appID ?? URL(filePath: RunningExecutable.path).lastPathComponent
        self.appVersion = appVersion
        self.vendorID = vendorID
        self.transport = transport
    }

    /// Returns the checked URL.
    ///
    /// - Throws: ``ApproovError`` with code `configurationError` when the URL does not parse, or is http and not loopback.
    func target() throws -> TransportURL {
        let target: TransportURL
        do {
            target = try TransportURL(url)
        } catch {
            throw ApproovError(.configurationError, "violations cannot be reported to this URL", cause: error)
        }
        guard target.isSecure || target.host.isLoopback else {
            throw ApproovError(
                .configurationError, "reports to \(target.host) need an https URL: plain http is for loopback addresses only")
        }
        return target
    }

    /// The trust policy for the report server: path validation without pins, because wrong pins may be the reason for the report.
    ///
    /// - Throws: `PinningError` when the system's roots cannot be loaded.
    func policy() throws -> TrustPolicy {
        TrustPolicy(rules: try HostMap([]), defaultAnchors: try anchors ?? TrustAnchors.system())
    }
}
