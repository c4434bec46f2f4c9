import Foundation

/// The running executable's file, which the demo runs again as another app.
enum OwnExecutable {
    static var url: URL { URL(filePath: "/proc/self/exe").resolvingSymlinksInPath() }

    /// Copies the executable and appends a byte: the copy behaves the same, but has another measurement.
    static func makeVariant(at copy: URL) throws {
        try FileManager.default.copyItem(at: url, to: copy)
        let handle = try FileHandle(forWritingTo: copy)
        defer { try? handle.close() }
        try handle.seekToEnd()
        try handle.write(contentsOf: Data([0]))
    }
}
