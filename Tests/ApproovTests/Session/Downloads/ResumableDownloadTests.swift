import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct ResumableDownloadTests {
    private static func token(_ offset: Int = 400, total: Int? = 1_000) throws -> ResumeToken {
        ResumeToken(
            url: try #require(URL(string: "https://api.test/file")), etag: "\"v1\"", offset: offset, total: total,
            file: URL(filePath: "/tmp/file"), origin: "https://api.test:443")
    }

    private static func answer(
        _ status: Int, _ range: String?, etag: String? = "\"v1\"", total: Int? = 1_000, encoding: String? = nil,
        url: String = "https://api.test/file"
    ) throws -> ResumableDownload.Answer {
        var fields = HTTPFields()
        fields[.contentRange] = range
        fields[.eTag] = etag
        fields[.contentEncoding] = encoding
        let response = TransportResponse(status: status, headerFields: fields, url: try TransportURL(url))
        return ResumableDownload.answer(response, to: try token(total: total))
    }

    @Test("Only the rest of the same content of the same server is taken for the rest")
    func rest() throws {
        #expect(try Self.answer(206, "bytes 400-999/1000") == .rest(size: 1_000))
        #expect(try Self.answer(206, "bytes 400-999/*") == .rest(size: 1_000))
        #expect(try Self.answer(206, "Bytes 400-1999/2000", total: nil) == .rest(size: 2_000))
        // Without any total, no one knows whether the range reaches to the end.
        #expect(try Self.answer(206, "bytes 400-999/*", total: nil) == .foreign)
        for range in [
            nil, "", "bytes 401-999/1000", "bytes 0-999/1000", "bytes 400-998/1000", "bytes 400-499/*", "bytes 400-999/1001",
            "bytes 400-1000/1001",
            "bytes */1000", "bytes 400-/1000", "bytes -400/1000", "bytes 400-399/400", "items 400-999/1000", "bytes 400-999",
            "bytes 400-999/",
            "bytes +400-999/1000", "bytes 400-99999999999999999999/1000", "bytes 400-999/1000/1",
        ] {
            #expect(try Self.answer(206, range) == .foreign, "\(range ?? "-")")
        }
        #expect(try Self.answer(206, "bytes 400-999/1000", etag: nil) == .foreign)
        #expect(try Self.answer(206, "bytes 400-999/1000", etag: "\"v2\"") == .foreign)
        #expect(try Self.answer(206, "bytes 400-999/1000", encoding: "gzip") == .foreign)
        #expect(try Self.answer(206, "bytes 400-999/1000", url: "https://other.test/file") == .foreign)
        #expect(try Self.answer(200, nil) == .whole(size: nil))
        #expect(try Self.answer(416, nil) == .noRest)
        #expect(try Self.answer(416, "bytes */1000") == .noRest)
        for status in [204, 301, 404, 500] { #expect(try Self.answer(status, nil) == .other) }
    }

    @Test("A download is complete only if the server that gave the ETag says that the content ends where the bytes do")
    func complete() throws {
        for total in [400, nil] {
            #expect(try Self.answer(416, "bytes */400", etag: "\"v1\"", total: total) == .complete)
            #expect(try Self.answer(416, "bytes */400", etag: nil, total: total) == (total == nil ? .noRest : .complete))
            for range in [
                nil, "", "bytes */401", "bytes */399", "bytes */*", "bytes 0-399/400", "bytes 400", "items */400", "bytes */+400",
            ] {
                #expect(try Self.answer(416, range, total: total) == .noRest, "\(range ?? "-")")
            }
            #expect(try Self.answer(416, "bytes */400", etag: "\"v2\"", total: total) == .noRest)
            #expect(try Self.answer(416, "bytes */400", total: total, url: "https://other.test/file") == .noRest)
        }
        #expect(try Self.answer(416, "bytes */400", total: 1_000) == .noRest)
    }

    @Test("A request for the rest has Range and If-Range, and a request for all of it has neither")
    func prepare() throws {
        let request = URLRequest(url: try #require(URL(string: "https://api.test/file")))
        let rest = try ResumableDownload.prepare(request, resuming: Self.token())
        #expect(rest.value(forHTTPHeaderField: "Range") == "bytes=400-")
        #expect(rest.value(forHTTPHeaderField: "If-Range") == "\"v1\"")
        for token in [nil, try Self.token(0)] {
            let whole = try ResumableDownload.prepare(request, resuming: token)
            #expect(whole.value(forHTTPHeaderField: "Range") == nil)
            #expect(whole.value(forHTTPHeaderField: "If-Range") == nil)
            #expect(whole.value(forHTTPHeaderField: "Accept-Encoding") == "identity")
        }
    }

    @Test("A token is made only of a response with a strong ETag whose bytes are those of the content")
    func token() throws {
        let request = URLRequest(url: try #require(URL(string: "https://api.test/file")))
        func token(_ fields: HTTPFields) throws -> ResumeToken? {
            let response = TransportResponse(status: 200, headerFields: fields, url: try TransportURL("https://api.test/file"))
            return ResumableDownload.token(for: request, response, file: URL(filePath: "/tmp/file"))
        }
        #expect(try token([.eTag: "\"v1\"", .contentLength: "7"])?.total == 7)
        #expect(try token([.eTag: "\"\""]) != nil)
        #expect(try token([.eTag: "W/\"v1\""]) == nil)
        #expect(try token([.eTag: "v1"]) == nil)
        #expect(try token([:]) == nil)
        #expect(try token([.eTag: "\"v1\"", .contentEncoding: "gzip"]) == nil)
        #expect(try token([.eTag: "\"v1\"", .acceptRanges: "none"]) == nil)
        var twice: HTTPFields = [.eTag: "\"v1\""]
        twice.append(HTTPField(name: .eTag, value: "\"v2\""))
        #expect(try token(twice) == nil)
    }
}
