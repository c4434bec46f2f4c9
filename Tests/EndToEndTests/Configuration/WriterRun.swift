import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

/// An account's initial configuration and the versions after it, as files for `configuration-writer`.
struct WriterFiles {
    let folder: TemporaryFolder
    let initial: InitialConfiguration
    private let account: String
    private let key = P256.Signing.PrivateKey()

    var state: URL { folder.file("state") }
    var dynamic: String { state.appending(path: "approov-dynamic.json").path(percentEncoded: false) }
    var initialPath: String { folder.file("initial").path(percentEncoded: false) }

    init(account: String = "crash") throws {
        self.account = account
        folder = try TemporaryFolder()
        initial = try InitialConfiguration(
            account: account, epoch: 1, authority: #require(URL(string: "https://authority.test")), authorityPins: Self.pins,
            trustRoots: nil, configKeys: [PublicJWK(key.publicKey)],
            configuration: SignedConfiguration(signing: Self.configuration(1, of: account), by: [key]))
        try Data(initial.serialized).write(to: folder.file("initial"))
    }

    private static let pins = [1, 2].map { "sha256/" + Base64.encode([UInt8](repeating: $0, count: 32)) }

    /// By default, has so many hosts that the file is longer than a page and a pipe's atomic write.
    private static func configuration(_ version: Int64, of account: String, hosts: Int = 40) -> DynamicConfiguration {
        let now = Int64(Date().timeIntervalSince1970)
        let hosts = (0..<hosts).map { ("host\($0).version\(version).test", HostSettings(pins: pins)) }
        return DynamicConfiguration(
            account: account, version: version, issuedAt: now - 60, expiresAt: now + 86_400,
            hosts: Dictionary(uniqueKeysWithValues: hosts))
    }

    func signed(_ version: Int64, hosts: Int = 40) throws -> SignedConfiguration {
        try SignedConfiguration(signing: Self.configuration(version, of: account, hosts: hosts), by: [key])
    }

    /// Writes candidates to a file and returns its path.
    func candidates(_ versions: some Sequence<Int64>, hosts: Int = 40) throws -> String {
        let list = try JSONValue.array(versions.map { try signed($0, hosts: hosts).json })
        let file = folder.file("candidates-\(UUID().uuidString)")
        try Data(list.serialized()).write(to: file)
        return file.path(percentEncoded: false)
    }

    /// The stored version, verified starting from the initial configuration; nil if none is stored.
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

/// Runs of `configuration-writer`, alone or under a program that disturbs it.
enum ProgramRun {
    static let writer = ChildProcess.beside("configuration-writer").path(percentEncoded: false)

    /// Runs a program to its end, or kills it after a delay from its first output.
    static func run(_ arguments: [String], killedAfter delay: Duration? = nil) async throws -> ChildProcess.Run {
        // No backtraces: most of these programs are killed or made to fail on purpose.
        let environment = ["SWIFT_BACKTRACE": "enable=no"]
        let (program, arguments) = (URL(filePath: arguments[0]), Array(arguments.dropFirst()))
        guard let delay else { return try await ChildProcess.run(program, arguments, environment: environment) }
        let process = try ChildProcess(program, arguments, environment: environment)
        _ = try await process.waitForOutput { !$0.isEmpty }
        try await Task.sleep(for: delay)
        process.signal(SIGKILL)
        return await process.wait()
    }
}

extension ChildProcess.Run {
    /// The versions that the writer reported as stored.
    var stored: [Int64] {
        output.split(separator: "\n").compactMap { $0.hasPrefix("stored ") ? Int64($0.dropFirst(7)) : nil }
    }
}
