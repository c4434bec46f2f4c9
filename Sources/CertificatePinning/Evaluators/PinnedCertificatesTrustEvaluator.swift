internal import ApproovBase
internal import Foundation

/// Pins whole certificates: one of them must be on the validated path, byte for byte, as the server's, an intermediate's or the root's.
///
/// Any certificate of the path counts, as with Alamofire and with ``PublicKeysTrustEvaluator``: pin the server's own for the narrowest
/// rule. A renewed certificate is another one even with the same key; pin keys (``PublicKeysTrustEvaluator``) where renewals must not
/// need a new version of the program.
public struct PinnedCertificatesTrustEvaluator: ServerTrustEvaluating {
    /// The folder that ``init()`` looks for.
    public static let folderName = "pinned-certificates"

    private let pinned: Set<[UInt8]>
    private let pins: Set<Pin>
    /// The pinned certificates as roots, where self-signed ones are accepted.
    public let conditions: TrustConditions

    /// Pins certificates.
    ///
    /// - Parameters:
    ///   - certificates: The certificates.
    ///   - acceptingSelfSigned: DANGER: makes the self-signed ones among them the only roots of the host, so that a server may present one
    ///     of them as its own. Host name, dates and purpose are checked as ever.
    /// - Throws: ``PinningError`` `noCertificates` for an empty list; `noAnchors` when self-signed ones are to be accepted and none is
    ///   there, `expiredAnchors` when none of them holds today.
    public init(certificates: [Certificate], acceptingSelfSigned: Bool = false) throws {
        guard !certificates.isEmpty else {
            throw PinningError(
                .noCertificates, "pinning needs a certificate: name one, or use DefaultTrustEvaluator for path validation alone")
        }
        pinned = Set(certificates.map(\.der))
        pins = Set(certificates.map(\.pin))
        var conditions = TrustConditions()
        if acceptingSelfSigned {
            let anchors = try TrustAnchors(certificates: certificates.filter(\.isSelfSigned))
            try anchors.requireValid(at: Date())
            conditions.anchors = anchors
            conditions.acceptsSelfSignedServer = true
        }
        self.conditions = conditions
    }

    /// Pins the certificates of bytes: PEM with any number of them, or the DER of one.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - acceptingSelfSigned: As in ``init(certificates:acceptingSelfSigned:)``.
    /// - Throws: ``PinningError`` `malformedCertificate` and as above.
    public init(bytes: [UInt8], acceptingSelfSigned: Bool = false) throws {
        try self.init(certificates: Certificate.all(in: bytes), acceptingSelfSigned: acceptingSelfSigned)
    }

    /// Pins the certificates of files, or of folders: see ``Certificate/all(at:)``.
    ///
    /// - Parameters:
    ///   - paths: The paths of the files and folders.
    ///   - acceptingSelfSigned: As in ``init(certificates:acceptingSelfSigned:)``.
    /// - Throws: ``PinningError`` `unreadableFile`, `malformedCertificate` and as above.
    public init(contentsOf paths: String..., acceptingSelfSigned: Bool = false) throws {
        try self.init(certificates: paths.flatMap { try Certificate.all(at: $0) }, acceptingSelfSigned: acceptingSelfSigned)
    }

    /// Pins the certificates of the folder `pinned-certificates` beside the executable, or else in the working directory.
    ///
    /// Where there is no such folder, or something in it cannot be read, making a session with the evaluator throws, and the host is
    /// refused.
    public init() {
        self.init(lookingIn: [
            URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path(percentEncoded: false),
            FileManager.default.currentDirectoryPath,
        ])
    }

    init(lookingIn folders: [String]) {
        let candidates = folders.map { ($0.hasSuffix("/") ? $0 : $0 + "/") + Self.folderName }
        do {
            guard let folder = candidates.first(where: BoundedFile.exists) else {
                throw PinningError(
                    .noCertificates,
                    "no folder \(LoggableText.quoted(candidates.joined(separator: " or "), limit: 2_048)): put the certificates to pin there"
                )
            }
            try self.init(contentsOf: folder)
        } catch {
            self.init(
                flaw: error as? PinningError ?? PinningError(.unreadableFile, "the pinned certificates cannot be read", cause: error))
        }
    }

    private init(flaw: PinningError) {
        pinned = []
        pins = []
        var conditions = TrustConditions()
        conditions.flaw = flaw
        self.conditions = conditions
    }

    /// Trusts a path that has a pinned certificate; the refusal shows the keys presented beside those configured.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        if let flaw = conditions.flaw { return .refused(TrustRefusal(.evaluatorFailed, trust: trust, detail: flaw.description)) }
        if trust.chain.contains(where: { pinned.contains($0.der) }) { return .trusted }
        let isRenewed = trust.chain.contains { pins.contains($0.pin) }
        return .refused(
            TrustRefusal(
                .pinMismatch, trust: trust, expected: pins,
                detail: isRenewed
                    ? "no certificate of the validated path is pinned, but the key of one is: it was renewed. Pin the new certificate, or"
                        + " the key with PublicKeysTrustEvaluator"
                    : "no certificate of the validated path is pinned. If the server's certificate was changed on purpose, pin the one"
                        + " presented; if not, somebody else answers in its place"))
    }
}
