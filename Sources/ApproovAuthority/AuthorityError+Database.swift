internal import Foundation
internal import GRDB

extension AuthorityError {
    /// Converts a database error into a message with a remedy.
    init(_ error: DatabaseError, in directory: URL? = nil) {
        let store = directory.map { "the store in \($0.path)" } ?? "the store"
        let message =
            switch error.resultCode {
            case .SQLITE_FULL: "\(store) cannot be written because the disk is full; free some space"
            case .SQLITE_BUSY, .SQLITE_LOCKED: "another process has used \(store) for more than five seconds; stop that process"
            case .SQLITE_NOTADB: "\(store) is not a database; restore it from a backup"
            case .SQLITE_CORRUPT: "\(store) is damaged; restore it from a backup"
            case .SQLITE_READONLY, .SQLITE_PERM: "\(store) cannot be written; run as its owner, on a writable disk"
            default: "\(store) cannot be read or written; check the disk's space and permissions"
            }
        self.init(.storeUnusable, message, cause: error)
    }
}
