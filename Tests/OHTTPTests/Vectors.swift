import Foundation
import Testing

/// The published vectors that are too large for the source code.
///
/// They are in the folder that `APPROOV_VECTORS` names or else in ../shared/vectors, relative to the project's top folder.
enum Vectors {
    static let folder =
        ProcessInfo.processInfo.environment["APPROOV_VECTORS"].map { URL(filePath: $0) }
        ?? URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "shared/vectors")

    static let areThere = FileManager.default.fileExists(atPath: folder.path(percentEncoded: false))

    static let whereTheyAre: Comment = "the vectors are read from APPROOV_VECTORS or shared/vectors beside the project: neither is there"

    static func load(_ name: String) throws -> [String: Any] {
        let data = try Data(contentsOf: folder.appending(path: name))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }
}

enum Hex {
    /// The bytes of a hexadecimal text, which may have line breaks; empty if the text is not hexadecimal.
    static func bytes(_ text: String) -> [UInt8] { decode(text.filter { !$0.isWhitespace }) ?? [] }

    static func decode(_ text: String) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        var rest = text[...]
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
