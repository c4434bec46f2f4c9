internal import Glibc

/// The file of the running program.
package enum RunningExecutable {
    /// What the kernel appends to the path of a file that was removed or replaced.
    private static let deletedMark = " (deleted)"

    /// The path from which the program was started, even after an upgrade has replaced or removed the file.
    ///
    /// It gives a name and a folder. To read the running executable, open `/proc/self/exe`: another file may be at the path now.
    package static var path: String { path(ofLink: "/proc/self/exe") }

    /// Returns the path of an open file from its link in `/proc`.
    ///
    /// - Parameter link: The link.
    /// - Returns: The path, without the mark of a removed file; the link itself if it cannot be read.
    package static func path(ofLink link: String) -> String {
        // The longest path that the kernel gives.
        let limit = 4_096
        var buffer = [CChar](repeating: 0, count: limit)
        let count = readlink(link, &buffer, limit)
        guard count > 0 else { return link }
        let path = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // A file may really have such a name.
        guard path.hasSuffix(deletedMark), FileStatus(path, followsLink: false) == nil else { return path }
        return String(path.dropLast(deletedMark.count))
    }
}
