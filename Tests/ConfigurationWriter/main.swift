// Stores configurations in a state directory, one after another, and prints what it stored. Tests can kill this process.
//
//     configuration-writer DIRECTORY INITIAL CANDIDATES
//
// INITIAL is an initial configuration, CANDIDATES a JSON array of signed configurations. The program skips a version that is not newer
// than the stored one. It does everything on the main thread, so that tests can count its system calls.
import ApproovBase
import Approov
import Attestation
import Foundation

/// Prints a line with a single write and ignores its failure, which a test may cause.
func say(_ text: String) { _ = (text + "\n").withCString { write(STDOUT_FILENO, $0, strlen($0)) } }

func read(_ path: String) throws -> [UInt8] { try Array(Data(contentsOf: URL(filePath: path))) }

do {
    let arguments = CommandLine.arguments
    guard arguments.count == 4 else { throw CocoaError(.fileNoSuchFile) }
    let store = FileConfigurationStore(directory: URL(filePath: arguments[1], directoryHint: .isDirectory))
    let initial = try InitialConfiguration(read(arguments[2]))
    let candidates = try JSONValue(reading: read(arguments[3]), limit: 64 << 20).array().map { try SignedConfiguration(json: $0) }
    let now = Date()
    say("ready")
    for candidate in candidates {
        let stored = try store.withExclusiveAccess { () -> Int64? in
            let bytes = try store.read()
            let state = try bytes.map { try ConfigurationState(initial: initial, restoring: $0) } ?? ConfigurationState(initial: initial)
            do {
                let next = try state.accepting([candidate], now: now)
                guard let bytes = next.serializedChain else { return nil }
                try store.store(bytes)
                return next.accepted.version
            } catch let error as AttestationError where error.code == .rolledBack || error.code == .conflictingVersion {
                return nil
            }
        }
        if let stored { say("stored \(stored)") }
    }
} catch {
    FileHandle.standardError.write(Data("configuration-writer: \(error)\n".utf8))
    exit(1)
}
