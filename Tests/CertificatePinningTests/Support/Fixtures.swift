import ApproovTesting
import CertificatePinning
import Foundation
import Testing

extension Certificate {
    convenience init(_ certificate: TestCertificate) throws {
        try self.init(der: certificate.der)
    }
}

extension Pin {
    init(_ key: TestKey) throws {
        try self.init(spkiSHA256: key.spkiSHA256)
    }
}

extension TrustAnchors {
    convenience init(_ roots: TestCertificate...) throws {
        try self.init(certificates: roots.map { try Certificate($0) })
    }
}

extension TrustRule {
    static func pinned(_ pins: Pin..., anchors: TrustAnchors? = nil) throws -> TrustRule {
        try TrustRule(evaluators: [PublicKeysTrustEvaluator(withoutBackup: Set(pins))], anchors: anchors)
    }

    static let pathValidation = TrustRule(evaluators: [])
}

extension PathSearchLimit {
    /// The default number of paths, on a clock that stands still, so that no test depends on the machine's speed.
    static let untimed = PathSearchLimit(uptime: { .zero })
}

/// The validator's result for a chain, without a network.
func judge(
    _ chain: [TestCertificate], host: String = "api.test", rule: TrustRule = .pathValidation, anchors: TrustAnchors,
    time: Date = Date()
) throws -> Result<ServerTrust, TrustRefusal> {
    try ChainValidator.evaluate(
        chain: chain.map { try Certificate($0) }, host: CanonicalHost(host), rule: rule, defaultAnchors: anchors, time: time,
        searchLimit: .untimed)
}

extension Result where Success == ServerTrust, Failure == TrustRefusal {
    var refusal: TrustRefusal? {
        if case .failure(let refusal) = self { refusal } else { nil }
    }

    var reason: TrustRefusal.Reason? { refusal?.reason }

    var isTrusted: Bool { refusal == nil }
}

extension HandshakeJudgement {
    var reason: TrustRefusal.Reason? { refusal?.reason }

    /// The validated path of a trusted server.
    func get() throws -> ServerTrust {
        switch self {
        case .trusted(let trust): return trust
        case .refused(let refusal): throw refusal
        case .awaitsStatus(let trust): throw TrustRefusal(.other, trust: trust, detail: "the status is awaited")
        }
    }
}

/// Expects that the body throws a `PinningError` with this code.
func expectPinningError(
    _ code: PinningError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> some Any
) {
    let error = #expect(throws: PinningError.self, sourceLocation: sourceLocation) { _ = try body() }
    #expect(error?.code == code, sourceLocation: sourceLocation)
}

/// Runs the openssl command, as a second opinion beside the OpenSSL library.
@discardableResult
func openssl(_ arguments: String...) async throws -> Data { try await openssl(arguments) }

/// Runs the openssl command with an array of arguments.
@discardableResult
func openssl(_ arguments: [String]) async throws -> Data {
    let run = try await ChildProcess.run(URL(filePath: "/usr/bin/openssl"), arguments)
    try #require(run.exitCode == 0, "openssl \(arguments.joined(separator: " ")): \(run.errors)")
    return run.data
}
