import ApproovBase
public import Attestation
import CertificatePinning
public import Foundation

/// The initial configuration of an app: its account, its authority, and the pins that hold until the first fetch.
public struct ApproovConfiguration: Sendable {
    /// The file name that ``bundled()`` looks for.
    public static let fileName = "approov-initial.config"

    /// The content of the file.
    public let initial: InitialConfiguration

    /// Checks and wraps a configuration that the caller has already parsed.
    ///
    /// - Parameter initial: The parsed configuration.
    /// - Throws: ``ApproovError`` with code `configurationError` when the signed part does not verify, a pin, host or certificate in
    ///   it does not parse, or it belongs to the demo account and names an address other than loopback.
    public init(_ initial: InitialConfiguration) throws {
        self.initial = initial
        do {
            let state = try ConfigurationState(initial: initial)
            try ConfigurationSnapshot.check(state.accepted, initial: initial)
        } catch {
            throw ApproovError(.configurationError, "the initial configuration cannot be used", cause: error)
        }
    }

    /// Parses the text of an initial configuration.
    ///
    /// - Parameter text: The content of an `approov-initial.config` file.
    /// - Throws: ``ApproovError`` with code `configurationError` when the text is empty, is not strict JSON, exceeds 1 MiB, or has
    ///   content that does not verify or parse.
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
    /// - Throws: ``ApproovError`` with code `configurationError` when the file does not exist, is not a regular file, exceeds 1 MiB, or
    ///   has content that does not verify or parse.
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
            throw ApproovError(
                .configurationError, "\(path) cannot be used as an initial configuration; write it again with approov sdk -getConfig",
                cause: error)
        }
    }

    /// Reads `approov-initial.config` from the folder of the running executable, or else from the working directory.
    ///
    /// - Throws: ``ApproovError`` with code `configurationError` when neither place has the file (the message names both), or when the file
    ///   is unusable. An unusable file beside the executable is an error; the working directory is then not tried.
    public static func bundled() throws -> ApproovConfiguration {
        let beside = URL(filePath: RunningExecutable.path).deletingLastPathComponent().appending(path: fileName)
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
