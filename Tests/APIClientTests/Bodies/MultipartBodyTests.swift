@testable import APIClient
import ApproovTesting
import Foundation
import HTTPClient
import Testing

// Acceptance list: S2.44, S2.53, S2.54, S2.55, S2.57, S2.58, S2.59
@Suite struct MultipartBodyTests {
    /// The whole content, whatever its kind.
    private func bytes(of body: RequestBody) async throws -> [UInt8] {
        let all = Shared<[UInt8]>([])
        try await body.forEachPart { part in all.change { $0 += part } }
        return all.value
    }

    private func form(_ parts: [FormPart]) -> MultipartBody { MultipartBody(parts, boundaries: { "bb" }) }

    @Test("A part from a file URL has the file's path, and another URL is refused")
    func fileURL() throws {
        guard case .file(let path, let type) = try FormPart.Content.file(URL(filePath: "/tmp/my photo.jpg"), type: "image/jpeg") else {
            throw TestServerError("no file")
        }
        #expect(path == "/tmp/my photo.jpg" && type == "image/jpeg")
        let url = try #require(URL(string: "https://example.com/photo.jpg"))
        #expect(code { try FormPart.Content.file(url, type: "image/jpeg") } == .invalidBody)
        #expect(code { try RawBody(file: url) } == .invalidBody)
    }

    @Test("A form without files has its parts in order, with their types, between delimiters, and ends with a line end")
    func memory() throws {
        var form = form([FormPart(name: "kitten", filename: "mr-jingles.jpg", content: .image(Data([1, 2]), .jpeg))])
        var last = FormPart(name: "note", content: .text("é"))
        last.headers = ["X-Part": "2"]
        form.append(last)
        let content = try form.serialize()
        #expect(content.contentType == "multipart/form-data; boundary=bb")
        #expect(
            content.body.text
                == "--bb\r\nContent-Disposition: form-data; name=\"kitten\"; filename=\"mr-jingles.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n"
                + "\u{1}\u{2}\r\n--bb\r\nContent-Disposition: form-data; name=\"note\"\r\nX-Part: 2\r\n\r\né\r\n--bb--\r\n")
    }

    @Test("A form with files is a stream of known length, and files that nothing names have the name of their path")
    func files() async throws {
        let folder = try TemporaryFolder()
        let large = [UInt8](repeating: 7, count: 200_001)
        let path = try folder.write(large, to: "cats.mov")
        let empty = try folder.write("", to: "empty")
        let content = try form([
            FormPart(name: "film", content: .file(path: path, type: "video/quicktime")),
            FormPart(name: "empty", filename: "other", content: .file(path: empty, type: "text/plain")),
        ]).serialize()
        guard case .stream(let length?, _) = content.body else {
            Issue.record("a form with files is not a stream of known length")
            return
        }
        let all = try await bytes(of: content.body)
        let head = "--bb\r\nContent-Disposition: form-data; name=\"film\"; filename=\"cats.mov\"\r\nContent-Type: video/quicktime\r\n\r\n"
        let tail =
            "\r\n--bb\r\nContent-Disposition: form-data; name=\"empty\"; filename=\"other\"\r\nContent-Type: text/plain\r\n\r\n\r\n--bb--\r\n"
        #expect(all == Array(head.utf8) + large + Array(tail.utf8) && all.count == length)
    }

    @Test(
        "Each kind of content has its media type",
        arguments: [
            (.image(Data("x".utf8), .jpeg), "image/jpeg"), (.image(Data("x".utf8), .png), "image/png"),
            (.image(Data("x".utf8), .webp), "image/webp"), (.video(Data("x".utf8), .mov), "video/quicktime"),
            (.video(Data("x".utf8), .mp4), "video/mp4"), (.video(Data("x".utf8), .flv), "video/x-flv"),
            (.video(Data("x".utf8), .m3u8), "application/x-mpegURL"), (.video(Data("x".utf8), .avi), "video/x-msvideo"),
            (.video(Data("x".utf8), .wmv), "video/x-ms-wmv"), (.pdf(Data("x".utf8)), "application/pdf"),
            (.binary(Data("x".utf8)), "application/octet-stream"),
        ] as [(FormPart.Content, String)])
    func mediaTypes(content: FormPart.Content, type: String) throws {
        let body = try form([FormPart(name: "a", content: content)]).serialize().body
        #expect(body.text == "--bb\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Type: \(type)\r\n\r\nx\r\n--bb--\r\n")
    }

    @Test("Quotation marks, line ends and backslashes in names cannot end the name or begin a header")
    func names() throws {
        let name = "a\"; filename=\"x\r\nX-Injected: 1\r\n\r\n\\"
        let content = try form([FormPart(name: name, filename: name, content: .text(""))]).serialize()
        let escaped = "a%22; filename=%22x%0D%0AX-Injected: 1%0D%0A%0D%0A%5C"
        #expect(
            content.body.text
                == "--bb\r\nContent-Disposition: form-data; name=\"\(escaped)\"; filename=\"\(escaped)\"\r\n\r\n\r\n--bb--\r\n")
    }

    @Test("Names that are not UTF-8 are sent byte by byte, with the same escapes")
    func foreignNames() throws {
        var part = FormPart(nameBytes: [0x61, 0xFF, 0x22, 0x0D, 0x0A, 0xC0], filenameBytes: [0x5C, 0xF5], content: .text(""))
        guard case .bytes(let bytes) = try form([part]).serialize().body else { throw TestServerError("not in memory") }
        let head = Array("--bb\r\nContent-Disposition: form-data; name=\"a".utf8) + [0xFF] + Array("%22%0D%0A".utf8) + [0xC0]
        #expect(bytes == head + Array("\"; filename=\"%5C".utf8) + [0xF5] + Array("\"\r\n\r\n\r\n--bb--\r\n".utf8))
        #expect(part.name == "a\u{FFFD}\"\r\n\u{FFFD}" && part.filename == "\\\u{FFFD}")
        (part.name, part.filename) = ("é", nil)
        #expect(part.nameBytes == [0xC3, 0xA9] && part.filenameBytes == nil)
    }

    @Test(
        "Part headers that are malformed, or that the part writes itself, are refused without their values",
        arguments: [
            ["X-A": "canary\r\nX-B: 1"], ["X A": "canary"], ["Content-Type": "canary"], ["content-disposition": "canary"], ["": "canary"],
        ])
    func headers(_ headers: [String: String]) {
        var part = FormPart(name: "a", content: .text(""))
        part.headers = headers
        let text = message { try form([part]).serialize() }
        #expect(text.hasPrefix("invalidHeader") && !text.contains("canary"), "\(text)")
    }

    @Test(
        "A malformed media type is refused",
        arguments: ["", "text", "text/", "/plain", "text/plain/x", "text/plain\r\nX: y", "te xt/plain"])
    func mediaTypes(_ type: String) {
        #expect(code { try form([FormPart(name: "a", content: .data(Data(), type: type))]).serialize() } == .invalidHeader)
    }

    @Test("A boundary that a part in memory contains is not used, and each form has another one of 128 bits")
    func boundaries() throws {
        let next = Shared(0)
        let boundaries: @Sendable () -> String = {
            next.change { $0 += 1 }
            return "b\(next.value)"
        }
        let parts = [FormPart(name: "a", content: .text("xb1x")), FormPart(name: "b", content: .binary(Data("--b2".utf8)))]
        #expect(try MultipartBody(parts, boundaries: boundaries).serialize().contentType == "multipart/form-data; boundary=b3")

        let types = try (0..<100).map { _ in try MultipartBody(parts).serialize().contentType }
        #expect(Set(types).count == 100)
        #expect(types.allSatisfy { $0.wholeMatch(of: /multipart\/form-data; boundary=form-[0-9a-f]{32}/) != nil })
    }

    @Test("A form without parts, a missing file, a folder and a FIFO are refused by the part's name")
    func refused() async throws {
        #expect(code { try MultipartBody().serialize() } == .invalidBody)
        let folder = try TemporaryFolder()
        let fifo = folder.url.appending(path: "fifo").path(percentEncoded: false)
        #expect(mkfifo(fifo, 0o600) == 0)
        for path in [folder.url.path(percentEncoded: false), fifo, fifo + "-missing"] {
            let text = message { try form([FormPart(name: "film", content: .file(path: path, type: "text/plain"))]).serialize() }
            #expect(text.hasPrefix("invalidBody") && text.contains("film"), "\(text)")
        }
    }

    @Test("A file that changed its length after the form was made ends the body with an error", arguments: [0, 2, 4])
    func changed(size: Int) async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write([1, 2, 3], to: "file")
        let content = try form([FormPart(name: "a", content: .file(path: path, type: "text/plain"))]).serialize()
        _ = try folder.write([UInt8](repeating: 1, count: size), to: "file")
        await #expect(throws: APIError.self) { _ = try await bytes(of: content.body) }
    }
}
