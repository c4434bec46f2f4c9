package import Foundation
internal import Glibc

extension PrivateFile {
    /// Removes the temporary files that writers of this file left behind because they were killed; what cannot be removed stays.
    ///
    /// - Parameter age: The least time since the last write. Zero removes them all, even one from the future, as after the clock was set
    ///   back; use it only where a lock keeps other writers away.
    package func removeLeftovers(unchangedFor age: TimeInterval) {
        for leftover in leftovers {
            var status = stat()
            guard lstat(leftover, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
                age <= 0 || Date().timeIntervalSince1970 - TimeInterval(status.st_mtim.tv_sec) >= age
            else { continue }
            unlink(leftover)
        }
    }

    /// The paths of temporary files of this file: left behind by a writer that was killed, or being written now.
    package var leftovers: [String] {
        guard let slash = path.lastIndex(of: "/") else { return [] }
        let folder = String(path[...slash])
        let prefix = path[path.index(after: slash)...] + "."
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return [] }
        return names.filter { name in
            guard name.hasPrefix(prefix), name.hasSuffix(Self.temporarySuffix) else { return false }
            // Just the names that are made here: approov-dynamic.json.backup.tmp belongs to another program.
            return UInt64(name.dropFirst(prefix.count).dropLast(Self.temporarySuffix.count), radix: 36) != nil
        }.map { folder + $0 }
    }
}
