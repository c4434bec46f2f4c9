import Foundation

/// The file of the running executable, which the demo runs again as another app.
enum OwnExecutable {
    static var url: URL { URL(filePath: "/proc/self/exe").resolvingSymlinksInPath() }

    /// Copies it and appends a byte: the copy runs the same, and is another program to whoever measures it.
    static func makeVariant(at copy: URL) throws {
        try FileManager.default.copyItem(at: url, to: copy)
        let handle = try FileHandle(forWritingTo: copy)
        defer { try? handle.close() }
        try handle.seekToEnd()
        try handle.write(contentsOf: Data([0]))
    }
}
