import ApproovAuthority
import ArgumentParser
import Foundation
import Glibc

/// `--data DIR`: which authority's store an administrative command works on.
struct StoreOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The authority's store. Default: $APPROOV_DATA, else ./approov-data.", valueName: "dir"))
    var data: String?

    var directory: URL {
        let path = data ?? ProcessInfo.processInfo.environment["APPROOV_DATA"].flatMap { $0.isEmpty ? nil : $0 } ?? "approov-data"
        return URL(filePath: path, directoryHint: .isDirectory)
    }

    /// The folder as messages name it: absolute, for the mistake is often in where one stands.
    var path: String {
        let path = directory.absoluteURL.path(percentEncoded: false)
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Opens the store, and makes it when there is none, which is said aloud: it may be the right one's name that was misspelt.
    func open(seed: AccountSeed? = nil) throws -> AuthorityStore {
        let obstacle = access(path + "/authority.sqlite", F_OK) == 0 ? 0 : errno
        guard obstacle != EACCES else {
            throw CommandFailure("the store at \(path) is another user's: run this as its owner, with runuser -u OWNER -- approov …")
        }
        // Of every other obstacle the store itself says what it is.
        let store = try AuthorityStore(directory: directory, seed: seed)
        if obstacle == ENOENT {
            Console.note("approov: made a new store, with a secret and keys of its own, at \(path); --data names another")
        }
        return store
    }
}
