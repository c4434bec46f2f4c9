package import Foundation

/// A folder that only its owner can enter, removed when this object is deallocated, even if the test fails.
package final class TemporaryFolder: Sendable {
    /// The folder's URL.
    package let url: URL

    /// Makes the folder.
    /// - Throws: When it cannot be made in the system's temporary folder.
    package init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "approov-testing-\(UUID().uuidString)", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The folder's path, without a trailing slash.
    package var path: String { url.path }

    /// The names of the folder's entries, sorted.
    package var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    /// The URL of a file in the folder.
    package func file(_ name: String) -> URL { url.appending(path: name) }

    /// The path of a file in the folder.
    package func path(_ name: String) -> String { file(name).path(percentEncoded: false) }

    /// Writes a file and returns its path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String { try write(Array(text.utf8), to: name) }

    /// Writes a file and returns its path.
    @discardableResult
    package func write(_ bytes: [UInt8], to name: String) throws -> String {
        try Data(bytes).write(to: file(name))
        return path(name)
    }

    /// Writes a file that only its owner may read, such as a key, and returns its path.
    @discardableResult
    package func writePrivate(_ text: String, to name: String) throws -> String {
        let path = try write(text, to: name)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    /// Copies a folder of files into this one, accessible to their owner only.
    ///
    /// Version control does not keep such modes.
    /// - Returns: The URL of the copy.
    package func copy(_ source: URL, to name: String) throws -> URL {
        let copy = url.appending(path: name, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for file in try FileManager.default.contentsOfDirectory(atPath: source.path) {
            let path = copy.appending(path: file).path
            try FileManager.default.copyItem(atPath: source.appending(path: file).path, toPath: path)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        return copy
    }

    /// Reads a file as UTF-8.
    package func text(_ name: String) throws -> String { try String(contentsOf: file(name), encoding: .utf8) }
}
