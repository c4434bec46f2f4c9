import Foundation

/// A file of zeros in the folder for temporary files, which takes no room.
struct SparseFile {
    let url = FileManager.default.temporaryDirectory.appending(path: "approov-benchmark-\(UUID().uuidString)")

    init(bytes: Int) throws {
        try Data().write(to: url)
        try FileHandle(forWritingTo: url).truncate(atOffset: UInt64(bytes))
    }

    func remove() { try? FileManager.default.removeItem(at: url) }
}
