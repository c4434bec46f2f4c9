import ApproovTesting
import Foundation
import Testing

@Suite("A temporary folder")
struct TemporaryFolderTests {
    @Test("Only the owner can access the folder, and it is removed with its last reference")
    func gone() throws {
        var folder: TemporaryFolder? = try TemporaryFolder()
        let path = try #require(folder?.path)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o700)
        #expect(try folder?.write("text", to: "b") == path + "/b")
        #expect(try folder?.write([1, 2], to: "a") == folder?.path("a"))
        #expect(try folder?.names == ["a", "b"])
        #expect(try folder?.text("b") == "text")
        folder = nil
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
