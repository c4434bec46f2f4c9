import Foundation
import Synchronization

/// Where log lines go, one at a time: standard error, as standard output belongs to results.
final class LogOutput: Sendable {
    private let file: Mutex<FileHandle>

    init(_ file: FileHandle = .standardError) { self.file = Mutex(file) }

    /// Writes a line and its end.
    func write(_ line: String) {
        // Where that is closed or full there is no reader left to tell.
        file.withLock { try? $0.write(contentsOf: Data("\(line)\n".utf8)) }
    }
}
