import ApproovServer
import ArgumentParser
import Foundation

/// `--data DIR`: which authority's store an administrative command works on.
struct StoreOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The authority's store. Default: $APPROOV_DATA, else ./approov-data.", valueName: "dir"))
    var data: String?

    var directory: URL {
        let path = data ?? ProcessInfo.processInfo.environment["APPROOV_DATA"].flatMap { $0.isEmpty ? nil : $0 } ?? "approov-data"
        return URL(filePath: path, directoryHint: .isDirectory)
    }

    /// Opens the store; the first command makes it.
    func open(seed: AccountSeed? = nil) throws -> AuthorityStore {
        try AuthorityStore(directory: directory, seed: seed)
    }
}
