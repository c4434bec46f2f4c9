// Takes configurations up in a state directory, one after another, and says what it stored: a process that tests can kill.
//
//     configuration-writer DIRECTORY INITIAL CANDIDATES
//
// INITIAL is an initial configuration, CANDIDATES a JSON array of signed configurations. A version that is not newer than what is
// stored is passed over. Everything happens on the main thread, so that its system calls can be counted.
import ApproovBase
import Approov
import Attestation
import Foundation

/// One write, and no complaint when it fails: a test may make it fail.
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
