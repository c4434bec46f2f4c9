public import Attestation
import CertificatePinning
public import Foundation

/// The initial configuration of an app: its account, its authority, and pins for the time before the first fetch.
public struct ApproovConfiguration: Sendable {
    /// The name of the file that ``bundled()`` looks for.
    public static let fileName = "approov-initial.config"

    /// What the file says.
    public let initial: InitialConfiguration

    /// Takes a configuration that was read before.
    ///
    /// - Throws: ``ApproovError`` `configurationError` when its signed part does not verify, a pin, host or certificate in it does not
    ///   parse, or it is the demo account's and names an address beyond this machine.
    public init(_ initial: InitialConfiguration) throws {
        self.initial = initial
        do {
            let state = try ConfigurationState(initial: initial)
            try ConfigurationSnapshot.check(state.accepted, initial: initial)
        } catch {
            throw ApproovError(.configurationError, "the initial configuration cannot be used", cause: error)
        }
    }

    /// Reads the text of an initial configuration.
    ///
    /// - Throws: ``ApproovError`` `configurationError` when it is empty, not strict JSON, larger than 256 KiB, or breaks a rule.
    public init(_ text: String) throws {
        let initial: InitialConfiguration
        do {
            initial = try InitialConfiguration(text)
        } catch {
            throw ApproovError(.configurationError, "the initial configuration cannot be used", cause: error)
        }
        try self.init(initial)
    }

    /// Reads an initial configuration from a file.
    ///
    /// - Parameter url: A file URL.
    /// - Throws: ``ApproovError`` `configurationError` when there is no such file, it is not a regular file or larger than 256 KiB, and
    ///   as for a text.
    public init(contentsOf url: URL) throws {
        guard url.isFileURL else {
            throw ApproovError(.configurationError, "an initial configuration is read from a file: give a file URL")
        }
        let path = url.path(percentEncoded: false)
        do {
            let bytes = try BoundedFile.read(path, limit: InitialConfiguration.maximumBytes)
            try self.init(InitialConfiguration(bytes))
        } catch let error as ApproovError where error.code == .configurationError {
            throw ApproovError(.configurationError, "\(path): \(error.message)", cause: error.cause)
        } catch {
            throw ApproovError(.configurationError, "\(path) cannot be used as an initial configuration", cause: error)
        }
    }

    /// Reads `approov-initial.config` beside the running executable, or else in the working directory.
    ///
    /// - Throws: ``ApproovError`` `configurationError` naming both places when it is in neither, and as for a file. A file beside the
    ///   executable that cannot be used is an error, not a reason to look on.
    public static func bundled() throws -> ApproovConfiguration {
        let beside = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(path: fileName)
        let working = URL(filePath: FileManager.default.currentDirectoryPath).appending(path: fileName)
        for url in [beside, working] where BoundedFile.exists(url.path(percentEncoded: false)) {
            return try ApproovConfiguration(contentsOf: url)
        }
        throw ApproovError(
            .configurationError,
            "no \(fileName) at \(beside.path(percentEncoded: false)) or \(working.path(percentEncoded: false)): "
                + "export it with `approov sdk -getConfig \(fileName)`")
    }
}
