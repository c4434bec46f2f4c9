import Foundation

/// The running executable's file, which the demo runs again as another app.
enum OwnExecutable {
    /// The file itself, even if an upgrade has replaced or removed it at its path.
    ///
    /// A child that is started from here runs the same file.
    static let url = URL(filePath: "/proc/self/exe")

    /// Copies the executable and appends a byte: the copy behaves the same, but has another measurement.
    static func makeVariant(at copy: URL) throws {
        // FileManager would copy the link.
        try Data(contentsOf: url, options: .alwaysMapped).write(to: copy)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: copy.path(percentEncoded: false))
        let handle = try FileHandle(forWritingTo: copy)
        defer { try? handle.close() }
        try handle.seekToEnd()
        try handle.write(contentsOf: Data([0]))
    }
}
