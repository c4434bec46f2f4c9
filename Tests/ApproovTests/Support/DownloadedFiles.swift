import Foundation

/// The files of downloads that have this size, which only one test may use: the other tests, and other runs, download at the same time.
func downloadedFiles(ofSize size: Int) throws -> [URL] {
    let folder = FileManager.default.temporaryDirectory
    // By name alone: other tests remove their files meanwhile.
    return try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
        .filter { $0.hasPrefix("approov-download-") }.map { folder.appending(path: $0) }
        .filter { (try? Data(contentsOf: $0).count) == size }
}
