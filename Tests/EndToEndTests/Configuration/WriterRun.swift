import Attestation
import Crypto
import Foundation
import Testing

/// An account's initial configuration and versions to follow it, as files for `configuration-writer`.
struct WriterFiles {
    let folder: TemporaryFolder
    let initial: InitialConfiguration
    private let key = P256.Signing.PrivateKey()

    var state: URL { folder.file("state") }
    var dynamic: String { state.appending(path: "approov-dynamic.json").path(percentEncoded: false) }
    var initialPath: String { folder.file("initial").path(percentEncoded: false) }

    init() throws {
        folder = try TemporaryFolder()
        initial = try InitialConfiguration(
            account: "crash", epoch: 1, authority: #require(URL(string: "https://authority.test")), authorityPins: Self.pins,
            trustRoots: nil, configKeys: [PublicJWK(key.publicKey)],
            configuration: SignedConfiguration(signing: Self.configuration(1), by: [key]))
        try Data(initial.serialized).write(to: folder.file("initial"))
    }

    private static let pins = [1, 2].map { "sha256/" + Base64.encode([UInt8](repeating: $0, count: 32)) }

    /// Names so many hosts that the file is longer than a page and a pipe's atomic write.
    private static func configuration(_ version: Int64, hosts: Int = 40) -> DynamicConfiguration {
        let now = Int64(Date().timeIntervalSince1970)
        let hosts = (0..<hosts).map { ("host\($0).version\(version).test", HostSettings(pins: pins)) }
        return DynamicConfiguration(
            account: "crash", version: version, issuedAt: now - 60, expiresAt: now + 86_400,
            hosts: Dictionary(uniqueKeysWithValues: hosts))
    }

    func signed(_ version: Int64, hosts: Int = 40) throws -> SignedConfiguration {
        try SignedConfiguration(signing: Self.configuration(version, hosts: hosts), by: [key])
    }

    /// Writes candidates to a file and returns its path.
    func candidates(_ versions: some Sequence<Int64>, hosts: Int = 40) throws -> String {
        let list = try JSONValue.array(versions.map { try signed($0, hosts: hosts).json })
        let file = folder.file("candidates-\(UUID().uuidString)")
        try Data(list.serialized()).write(to: file)
        return file.path(percentEncoded: false)
    }

    /// The version that is stored, verified from the initial configuration on; nil when nothing is.
    func storedVersion() throws -> Int64? {
        try PrivateFile(path: dynamic).read(upTo: ConfigurationState.maximumSerializedBytes).map {
            try ConfigurationState(initial: initial, restoring: $0).accepted.version
        }
    }

    /// The names in the state directory.
    func names() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: state.path(percentEncoded: false)))
    }
}

/// A run of a program with its output in files, ended or killed.
struct ProgramRun {
    let isKilled: Bool
    let exitCode: Int32
    let output: String
    let errors: String

    static var writer: String {
        ApproovProcess.executable.deletingLastPathComponent().appending(path: "configuration-writer").path(percentEncoded: false)
    }

    /// The versions that the writer says it stored.
    var stored: [Int64] {
        output.split(separator: "\n").compactMap { $0.hasPrefix("stored ") ? Int64($0.dropFirst(7)) : nil }
    }

    /// Runs a program to its end, or kills it a while after its first output.
    static func run(_ arguments: [String], killedAfter delay: Duration? = nil) async throws -> ProgramRun {
        let scratch = try TemporaryFolder()
        let process = Process()
        process.executableURL = URL(filePath: arguments[0])
        process.arguments = Array(arguments.dropFirst())
        process.environment = ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "SWIFT_BACKTRACE": "enable=no"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: scratch.write("", to: "out")))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: scratch.write("", to: "err")))
        let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in continuation.finish() }
        try process.run()
        if let delay {
            while try process.isRunning && scratch.text("out").isEmpty { try await Task.sleep(for: .milliseconds(1)) }
            try await Task.sleep(for: delay)
            kill(process.processIdentifier, SIGKILL)
        }
        for await _ in ended {}
        return ProgramRun(
            isKilled: process.terminationReason == .uncaughtSignal, exitCode: process.terminationStatus, output: try scratch.text("out"),
            errors: try scratch.text("err"))
    }
}
