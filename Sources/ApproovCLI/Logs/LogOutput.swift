import Foundation
import Synchronization

/// Writes log lines to standard error, one at a time; standard output is for results.
final class LogOutput: Sendable {
    private let file: Mutex<FileHandle>

    init(_ file: FileHandle = .standardError) { self.file = Mutex(file) }

    /// Writes a line and a line feed.
    func write(_ line: String) {
        // A failure is ignored: if standard error is closed or full, no other place is left to report it.
        file.withLock { try? $0.write(contentsOf: Data("\(line)\n".utf8)) }
    }
}
