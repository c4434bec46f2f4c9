import Foundation
import Testing

/// The published vectors that are too large to be written here, or are of a draft: they lie beside the project: ../shared/vectors, seen from its top folder, or `APPROOV_VECTORS`.
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

    /// The member `hex` of an example, decoded.
    static func bytes(_ name: String) throws -> [String: [UInt8]] {
        let hex = try #require(try load(name)["hex"] as? [String: Any])
        return hex.compactMapValues { ($0 as? String).flatMap(Hex.decode) }
    }
}

enum Hex {
    /// The bytes of an example, which may be broken into lines; empty when it is not hexadecimal.
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
