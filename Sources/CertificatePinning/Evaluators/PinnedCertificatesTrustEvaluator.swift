internal import ApproovBase
internal import Foundation

/// Pins whole certificates: one of them must be on the validated path, byte for byte, as the server's, an intermediate's or the root's.
///
/// Any certificate of the path counts, as with Alamofire and with ``PublicKeysTrustEvaluator``; for the narrowest rule, pin the server's
/// own. A renewed certificate is a different one even when its key is the same. If a renewal must not require a new version of the
/// program, pin keys with ``PublicKeysTrustEvaluator``.
public struct PinnedCertificatesTrustEvaluator: ServerTrustEvaluating {
    /// The name of the folder that ``init()`` reads.
    public static let folderName = "pinned-certificates"

    private let pinned: Set<[UInt8]>
    private let pins: Set<Pin>
    /// Names the pinned self-signed certificates as roots if they are accepted.
    public let conditions: TrustConditions

    /// Pins certificates.
    ///
    /// - Parameters:
    ///   - certificates: The certificates.
    ///   - acceptingSelfSigned: DANGER: makes the self-signed ones among the certificates the only roots of the host, so that a server may
    ///     present one of them as its own. Host name, dates and purpose are still checked.
    /// - Throws: ``PinningError`` with code `noCertificates` for an empty list. When accepting self-signed certificates, also `noAnchors`
    ///   if none of them is self-signed, `expiredAnchors` if all of these have expired, or `anchorsNotYetValid` if those that have not are
    ///   not yet valid.
    public init(certificates: [Certificate], acceptingSelfSigned: Bool = false) throws {
        guard !certificates.isEmpty else {
            throw PinningError(
                .noCertificates, "pinning needs a certificate; give one, or use DefaultTrustEvaluator for path validation alone")
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

    /// Pins the certificates in the bytes: PEM with any number of certificates, or one certificate in DER.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - acceptingSelfSigned: As in ``init(certificates:acceptingSelfSigned:)``.
    /// - Throws: ``PinningError`` with code `malformedCertificate`, or as ``init(certificates:acceptingSelfSigned:)`` does.
    public init(bytes: [UInt8], acceptingSelfSigned: Bool = false) throws {
        try self.init(certificates: Certificate.all(in: bytes), acceptingSelfSigned: acceptingSelfSigned)
    }

    /// Pins the certificates of files and folders: see ``Certificate/all(at:)``.
    ///
    /// - Parameters:
    ///   - paths: The paths of the files and folders.
    ///   - acceptingSelfSigned: As in ``init(certificates:acceptingSelfSigned:)``.
    /// - Throws: ``PinningError`` with code `unreadableFile` or `malformedCertificate`, or as ``init(certificates:acceptingSelfSigned:)``
    ///   does.
    public init(contentsOf paths: String..., acceptingSelfSigned: Bool = false) throws {
        try self.init(certificates: paths.flatMap { try Certificate.all(at: $0) }, acceptingSelfSigned: acceptingSelfSigned)
    }

    /// Pins the certificates of the folder `pinned-certificates`, next to the executable or else in the working directory.
    ///
    /// If the folder is missing or a file in it cannot be read, making a session with the evaluator throws, and the host is refused.
    public init() {
        self.init(lookingIn: [
            URL(filePath: RunningExecutable.path).deletingLastPathComponent().path(percentEncoded: false),
            FileManager.default.currentDirectoryPath,
        ])
    }

    init(lookingIn folders: [String]) {
        let candidates = folders.map { ($0.hasSuffix("/") ? $0 : $0 + "/") + Self.folderName }
        do {
            guard let folder = candidates.first(where: BoundedFile.exists) else {
                throw PinningError(
                    .noCertificates,
                    "there is no folder \(LoggableText.quoted(candidates.joined(separator: " or "), limit: 2_048)); put the certificates to"
                        + " pin there"
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

    /// Trusts a path with a pinned certificate; a refusal lists the pins presented and the pins expected.
    ///
    /// - Parameters:
    ///   - trust: The path to judge.
    ///   - host: The canonical name of the requested host.
    /// - Returns: The verdict.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        if let flaw = conditions.flaw { return .refused(TrustRefusal(.evaluatorFailed, trust: trust, detail: flaw.description)) }
        if trust.chain.contains(where: { pinned.contains($0.der) }) { return .trusted }
        let isRenewed = trust.chain.contains { pins.contains($0.pin) }
        return .refused(
            TrustRefusal(
                .pinMismatch, trust: trust, expected: pins,
                detail: isRenewed
                    ? "no certificate of the validated path is pinned, but one has the key of a pinned certificate, which was renewed; pin"
                        + " the new certificate, or the key with PublicKeysTrustEvaluator"
                    : "no certificate of the validated path is pinned; if you changed the server's certificate, pin the presented one; if"
                        + " not, another server answered in its place"))
    }
}
