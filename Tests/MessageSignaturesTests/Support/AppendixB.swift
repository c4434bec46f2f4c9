import Foundation
import HTTPTypes
import MessageSignatures
import Testing

/// RFC 9421, appendix B, as published: it lies beside the project, in ../shared/vectors seen from its top folder, or where
/// `APPROOV_VECTORS` says.
struct AppendixB {
    static let file =
        (ProcessInfo.processInfo.environment["APPROOV_VECTORS"].map { URL(filePath: $0) }
        ?? URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "shared/vectors"))
        .appending(path: "rfc9421-appendix-b.json")

    static let isThere = FileManager.default.fileExists(atPath: file.path(percentEncoded: false))

    static let whereItIs: Comment = "the vectors are read from APPROOV_VECTORS or shared/vectors beside the project: neither is there"

    /// The unfolded blocks of each section, by the section's title.
    let sections: [String: [String]]

    init() throws {
        struct File: Decodable {
            struct Section: Decodable {
                struct Block: Decodable { let unfolded: String }
                let title: String
                let blocks: [Block]
            }
            let sections: [Section]
        }
        let file = try JSONDecoder().decode(File.self, from: Data(contentsOf: Self.file))
        sections = Dictionary(uniqueKeysWithValues: file.sections.map { ($0.title, $0.blocks.map { Self.unfolded($0.unfolded) }) })
    }

    /// The file unfolds single backslashes where a note says so; one block is folded without a note (RFC 8792).
    private static func unfolded(_ text: String) -> String {
        text.replacing("\\\n  ", with: "").trimmingCharacters(in: .newlines)
    }

    func block(_ title: String, _ index: Int) throws -> String {
        let blocks = try #require(sections[title], "no section \(title)")
        return try #require(blocks.indices.contains(index) ? blocks[index] : nil, "no block \(index) in \(title)")
    }

    /// The PEM text of a key: the public one first.
    func pem(_ title: String) throws -> (publicKey: String, privateKey: String) {
        let parts = try block(title, 0).components(separatedBy: "\n\n")
        return (try #require(parts.first), try #require(parts.last))
    }
}

/// The parts of a message as an RFC prints it.
struct PrintedMessage {
    let start: [String]
    var fields = HTTPFields()
    let body: String

    init(_ text: String) throws {
        let parts = text.split(separator: "\n\n", maxSplits: 1)
        var lines = try #require(parts.first).split(separator: "\n").map(String.init)
        body = parts.count == 2 ? String(parts[1]) : ""
        // A block with signatures alone has no start line.
        start = try #require(lines.first).contains("HTTP/") ? lines.removeFirst().components(separatedBy: " ") : []
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields.append(
                HTTPField(
                    name: try #require(HTTPField.Name(String(parts[0]))),
                    value: parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""))
        }
    }

    var request: SignableRequest {
        get throws {
            let name = try #require(HTTPField.Name("Host"))
            let host = try #require(fields[name])
            return try SignableRequest(
                method: start[0], target: TargetURI(scheme: "https", authority: host, path: start[1]), fields: fields)
        }
    }

    var response: SignableResponse { get throws { try SignableResponse(status: try #require(Int(start[1])), fields: fields) } }
}
