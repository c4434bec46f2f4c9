internal import Glibc

/// The calls of the system whose failure must leave a file as it was.
struct FileSystemCalls: Sendable {
    var write: @Sendable (Int32, UnsafeRawPointer?, Int) -> Int = { Glibc.write($0, $1, $2) }
    var fsync: @Sendable (Int32) -> Int32 = { Glibc.fsync($0) }
    var rename: @Sendable (String, String) -> Int32 = { Glibc.rename($0, $1) }
}
