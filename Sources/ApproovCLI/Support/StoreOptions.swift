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

    /// Whether there is no store yet.
    var isMissing: Bool { obstacle == ENOENT }

    /// Opens the store.
    ///
    /// A verb that reads, and one that can only change what is there already, makes none. One that is made is named aloud: the right one's
    /// name may be misspelt.
    /// - Parameters:
    ///   - access: What for.
    ///   - seed: What a new store begins with; keys of its own by default.
    /// - Returns: The store.
    /// - Throws: `CommandFailure` for another user's store; what `AuthorityStore` throws.
    func open(_ access: StoreAccess, seed: AccountSeed? = nil) throws -> AuthorityStore {
        guard obstacle != EACCES else {
            throw CommandFailure("the store at \(path) is another user's: run this as its owner, with runuser -u OWNER -- approov …")
        }
        // Of every other obstacle the store itself says what it is.
        let store = try AuthorityStore(directory: directory, access: access, seed: seed)
        if store.isNew {
            Console.note("approov: made a new store, with a secret and keys of its own, at \(path); --data names another")
        }
        return store
    }

    /// What keeps the database from being found; 0 for nothing.
    private var obstacle: Int32 { access(path + "/authority.sqlite", F_OK) == 0 ? 0 : errno }
}
