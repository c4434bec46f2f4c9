import ApproovAuthority
import ArgumentParser
import Foundation
import Glibc

/// The option `--data DIR`: the store that an administrative command works on.
struct StoreOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("The folder of the authority's store. Default: $APPROOV_DATA, else ./approov-data.", valueName: "dir"))
    var data: String?

    var directory: URL {
        let path = data ?? ProcessInfo.processInfo.environment["APPROOV_DATA"].flatMap { $0.isEmpty ? nil : $0 } ?? "approov-data"
        return URL(filePath: path, directoryHint: .isDirectory)
    }

    /// The absolute path of the folder, for messages: a wrong working directory is a common mistake.
    var path: String {
        let path = directory.absoluteURL.path(percentEncoded: false)
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Whether the folder holds no store.
    var isMissing: Bool { obstacle == ENOENT }

    /// Opens the store.
    ///
    /// A verb that only reads, or only changes existing entries, makes no store. A note names the folder of a new store, in case the user
    /// misspelt the folder of an existing one.
    /// - Parameters:
    ///   - access: What the store is opened for.
    ///   - seed: The new store's initial content; by default it generates its own keys.
    ///   - remarks: Receives the note.
    /// - Returns: The store.
    /// - Throws: `CommandFailure` when the path is empty, or when the store belongs to another user; the errors of `AuthorityStore`.
    func open(_ access: StoreAccess, seed: AccountSeed? = nil, remarks: Remarks = Remarks()) throws -> AuthorityStore {
        // An empty path is often a variable that is not set. It would stand for the current folder. Not in `validate`: ArgumentParser then
        // reads the h of -change, -check and -show as -h, and prints the help.
        guard data?.isEmpty != true else {
            throw CommandFailure(
                "--data is empty: give the folder of the store, or . for the current folder", exitCode: CommandFailure.usage)
        }
        guard obstacle != EACCES else {
            throw CommandFailure("you lack permission to open the store at \(path); run this as its owner: runuser -u OWNER -- approov …")
        }
        // The store itself reports every other obstacle.
        let store = try AuthorityStore(directory: directory, access: access, seed: seed)
        if store.isNew {
            remarks.note("made a new store, with its own secret and keys, at \(path); --data names another folder")
        }
        return store
    }

    /// Tries a change on a new store in a temporary folder, if there is no store yet: a change that fails must not make one.
    ///
    /// It removes the folder.
    /// - Parameter change: The change.
    /// - Throws: The errors of `change`.
    func rehearse(_ change: (AuthorityStore) async throws -> Void) async throws {
        guard isMissing else { return }
        let folder = FileManager.default.temporaryDirectory.appending(path: "approov-\(UUID().uuidString)", directoryHint: .isDirectory)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Where no folder can be made, the change on the store itself reports the errors.
        guard let store = try? AuthorityStore(directory: folder, access: .making) else { return }
        try await change(store)
    }

    /// The `errno` that keeps the database from being found; 0 when it is found.
    private var obstacle: Int32 { access(path + "/authority.sqlite", F_OK) == 0 ? 0 : errno }
}
