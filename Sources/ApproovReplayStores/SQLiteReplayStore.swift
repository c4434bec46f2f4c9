public import ApproovBase
public import ApproovTokenCheck
internal import Foundation

/// A replay store in an SQLite file, which survives a restart, and which several processes of one machine may share.
///
///     let store = try SQLiteReplayStore(path: "/var/lib/my-api/replay.sqlite")
///     let check = try TokenCheckMiddleware<BasicTokenCheckedRequestContext>(verifier: verifier, consuming: store)
///
/// - A use is on the disk before `consume` returns, so a power failure loses none. Under load many uses share one write to the disk.
/// - The file has mode 0600, in a folder to which other users cannot write. It must be on a local disk: SQLite's locks do not work on all
///   network file systems. SQLite keeps two files beside it, with the suffixes `-wal` and `-shm`, and this store one with `.lock`.
/// - Records are removed after their end, a bounded number with each write. No record is removed before its end.
/// - When the file is removed or replaced while the store is open, every use fails until the process restarts. Do not restore an older copy:
///   tokens that were used since would pass once more while they live.
public final class SQLiteReplayStore: ReplayStore {
    /// The most uses that wait for the disk.
    static let maximumWaiting = 10_000
    /// How long a use waits for another process that writes, in seconds.
    private static let busyTimeout: Double = 2
    /// The smallest limit for the size of the file, in bytes.
    private static let leastBytes = 64 << 10

    private let writer: BatchWriter<ReplayDatabase.Use, Bool>

    /// Opens the store, and makes its file if there is none.
    ///
    /// It reads the whole file once to check it, so it may take a moment.
    /// - Parameters:
    ///   - path: The path of the file. Missing folders are made, with mode 0700.
    ///   - maximumBytes: The largest size of the file, at least 64 KiB; one record takes about 200 bytes. A store that has reached it refuses
    ///     uses until the end of older records.
    ///   - time: The clock.
    /// - Throws: `ReplayStoreError` with code `storeUnusable` when the file cannot be made, read or written; with code `storeInsecure` when
    ///   other users can access it or replace it; with code `storeDamaged` when it is damaged, empty or not a replay store; with code
    ///   `storeNewer` when a later release made it; with code `storeSlow` when another process holds it for seconds.
    public convenience init(path: String, maximumBytes: Int = 256 << 20, time: any TimeSource = SystemTimeSource()) throws {
        try self.init(path: path, maximumBytes: maximumBytes, busyTimeout: Self.busyTimeout, time: time)
    }

    /// Opens the store, and lets a write wait for another process for `busyTimeout` seconds.
    init(path: String, maximumBytes: Int, busyTimeout: Double, time: any TimeSource) throws {
        let database = try ReplayDatabase(
            file: ReplayFile(path: path), maximumBytes: max(Self.leastBytes, maximumBytes), busyTimeout: busyTimeout)
        writer = BatchWriter(maximumWaiting: Self.maximumWaiting) { uses in
            try await database.record(uses, now: Int64(time.date.timeIntervalSince1970))
        }
    }

    /// Records the use of a token, unless a use of it is already recorded.
    ///
    /// A use that still waits for the disk when the task is cancelled is not recorded.
    /// - Parameters:
    ///   - jti: The token's `jti`.
    ///   - issuer: The token's `iss`; nil if it has none.
    ///   - end: When the record may be removed, in seconds since 1970.
    /// - Returns: True for the first use; false if the token was used before, or records with this end or a later one were removed.
    /// - Throws: `ReplayStoreError` with code `storeFull` when the file has reached its largest size or the disk is full; with code
    ///   `storeSlow` when another process holds the file, or too many tokens wait; with code `storeUnusable`, `storeDamaged` or
    ///   `storeNewer`; `CancellationError`.
    public func consume(_ jti: String, of issuer: String?, until end: Int64) async throws -> Bool {
        do {
            // A missing issuer and an empty one share their records: that can refuse a token, and admits none.
            return try await writer.write(ReplayDatabase.Use(issuer: issuer ?? "", jti: jti, end: end))
        } catch is BatchWriter<ReplayDatabase.Use, Bool>.Full {
            throw ReplayStoreError(.storeSlow, "\(Self.maximumWaiting) tokens wait to be recorded in the replay store; use a faster disk")
        }
    }
}
