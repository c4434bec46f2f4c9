package import Foundation

/// A folder of the owner's alone that is gone when nobody holds it any more, whether the test failed or not.
package final class TemporaryFolder: Sendable {
    /// Where it is.
    package let url: URL

    /// Makes it.
    /// - Throws: When the system's temporary folder takes none.
    package init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "approov-testing-\(UUID().uuidString)", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Its path, without a slash at the end.
    package var path: String { url.path }

    /// The names of what is in it, sorted.
    package var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    /// The place of a file in it.
    package func file(_ name: String) -> URL { url.appending(path: name) }

    /// The path of a file in it.
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

    /// Copies a folder of files into this one, for their owner alone: version control keeps no such modes.
    /// - Returns: the copy
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

    /// What is in a file.
    package func text(_ name: String) throws -> String { try String(contentsOf: file(name), encoding: .utf8) }
}
