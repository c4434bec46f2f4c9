import ApproovTesting
import Foundation

/// The store that release edb79f7 wrote, see Tests/Fixtures/edb79f7/README.txt.
struct OlderRelease {
    /// The date on which the store was made.
    static let date = Date(timeIntervalSince1970: 1_795_336_300)
    static let fixture = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/edb79f7")

    let folder: TemporaryFolder
    /// A copy of the store's folder.
    let store: URL

    init() throws {
        folder = try TemporaryFolder()
        store = try folder.copy(Self.fixture.appending(path: "store"), to: "store")
    }

    var database: String { store.appending(path: "authority.sqlite").path }

    /// The content of the database file.
    var bytes: Data? { FileManager.default.contents(atPath: database) }

    /// The content of a file beside the store.
    static func data(_ name: String) throws -> Data { try Data(contentsOf: fixture.appending(path: name)) }
}
