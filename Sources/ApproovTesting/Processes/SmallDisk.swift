package import Foundation

/// A small file system in its own mount namespace, which ends with the command that runs in it.
package enum SmallDisk {
    /// Whether this user may mount a small disk.
    package static func isAvailable() async -> Bool {
        guard geteuid() == 0 else { return false }
        let mount = ["-m", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"]
        return (try? await ChildProcess.run(unshare, mount).exitCode) == 0
    }

    private static let unshare = URL(filePath: "/usr/bin/unshare")

    /// Runs a shell script with the disk mounted at `folder`.
    ///
    /// In the script, `$D` is the disk, `fill` uses up the free space, and `free` releases it.
    /// - Parameters:
    ///   - script: The script; exit code 99 says that the disk was not mounted.
    ///   - folder: The folder; what is written to it is gone afterwards.
    ///   - size: The size of the disk, as for mount.
    ///   - arguments: The script's arguments.
    /// - Returns: The run.
    /// - Throws: When the folder cannot be made or the shell cannot be started.
    package static func run(_ script: String, at folder: URL, size: String, arguments: [String]) async throws -> ChildProcess.Run {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let path = folder.path(percentEncoded: false)
        let prelude = """
            set -u; D=\(path); mount -t tmpfs -o size=\(size),mode=0700 tmpfs "$D" || exit 99
            fill() { dd if=/dev/zero of="$D/filler" bs=4k 2>/dev/null; true; }
            free() { rm -f "$D/filler"; }

            """
        return try await ChildProcess.run(unshare, ["-m", "/bin/sh", "-c", prelude + script, "sh"] + arguments)
    }
}
