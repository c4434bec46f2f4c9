import APIClient
import Foundation
import FoundationNetworking
import Testing

// Acceptance list: S2.12, S2.52
@Suite struct JSONResponseTests {
    struct Item: Codable, Equatable {
        var name = "cat"
        var tags = ["a"]
    }

    @Test(
        "A value is decoded, also with a media type that ends with +json or has parameters",
        arguments: ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"])
    func decoded(type: String) throws {
        #expect(try JSONResponse(Item.self).value(of: APIResponse(#"{"name":"cat","tags":["a"]}"#, type: type)) == Item())
    }

    @Test("A status or a media type that was not asked for is refused, and the error has the response but does not print it")
    func refused() async throws {
        for (response, code) in [
            (try APIResponse("canary", status: 404), APIError.Code.unexpectedStatus),
            (try APIResponse("canary", status: 302), .unexpectedStatus),
            (try APIResponse("canary", type: "text/html"), .unexpectedMediaType),
            (try APIResponse("canary", type: nil), .unexpectedMediaType),
            (try APIResponse("canary", type: "application/jsonx"), .unexpectedMediaType), (try APIResponse("canary"), .malformedResponse),
        ] {
            let error = await failure { try JSONResponse(Item.self).value(of: response) }
            #expect(error?.code == code && error?.response?.data == Data("canary".utf8), "\(String(describing: error))")
            #expect(error?.response?.head.statusCode == response.head.statusCode)
            #expect(error?.description.contains("canary") == false && error?.description.contains("api.example.com") == true)
        }
        #expect(
            try JSONResponse(Item.self, statuses: 404..<405).value(of: APIResponse(#"{"name":"x","tags":[]}"#, status: 404)).name == "x")
    }

    @Test(
        "Content that is not the value is refused by the place that does not fit, without the content",
        arguments: [
            (#"{"name":"canary"}"#, "tags is missing"), (#"{"name":"canary","tags":["a",7]}"#, "is not of type String"),
            (#"{"name":null,"tags":[]}"#, "name"), (#"["canary"]"#, "the content is not of type"), ("{canary", "malformed"),
            ("", "malformed"),
        ])
    func malformed(text: String, place: String) async throws {
        let response = try APIResponse(text)
        let error = await failure { try JSONResponse(Item.self).value(of: response) }
        #expect(error?.code == .malformedResponse && error?.message.contains(place) == true, "\(String(describing: error))")
        #expect(error?.description.contains("canary") == false)
    }

    @Test("An error names declared members and indexes, but no key of a dictionary, and at most 20 keys")
    func keys() async throws {
        struct Item: Decodable { let price: Int }
        struct List: Decodable { let items: [String: [Item]] }
        let named = await failure {
            try JSONResponse(List.self).value(of: APIResponse(#"{"items":{"canary":[{"price":1},{"price":"x"}]}}"#))
        }
        #expect(named?.message.contains("items.*.Index 1.price is not of type Int") == true, "\(String(describing: named))")
        let numbered = await failure { try JSONResponse([Int: [Int]].self).value(of: APIResponse(#"{"12345":["x"]}"#)) }
        #expect(numbered?.message.contains("*.Index 0 is not of type Int") == true, "\(String(describing: numbered))")
        for error in [named, numbered] { #expect(error?.message.contains("canary") == false && error?.message.contains("12345") == false) }

        struct Nested: Decodable { let next: [Nested] }
        let text = String(repeating: #"{"next":["#, count: 15) + "7" + String(repeating: "]}", count: 15)
        let deep = await failure { try JSONResponse(Nested.self).value(of: APIResponse(text)) }
        #expect(deep?.message.components(separatedBy: "next").count == 11, "\(String(describing: deep))")
    }

    @Test("A media type of the server is shown only if it is a plain one")
    func mediaTypes() async throws {
        for (type, isShown) in [
            ("text/html", true), ("TEXT/Html; charset=canary", true), ("text/html/x", false), ("text", false), ("text/", false),
            ("text/ht ml", false), ("text/<html>", false), ("text/" + String(repeating: "x", count: 96), false), ("canary", false),
        ] as [(String, Bool)] {
            let error = await failure { try JSONResponse(Item.self).value(of: APIResponse("{}", type: type)) }
            #expect(error?.code == .unexpectedMediaType && error?.message.contains("canary") == false)
            #expect(error?.message.contains("a malformed media type") == !isShown, "\(type)")
            #expect(error?.message.contains("\"text/html\"") == isShown, "\(type)")
        }
        let error = await failure { try JSONResponse(Item.self).value(of: APIResponse("{}", type: nil)) }
        #expect(error?.message.contains("no media type") == true)
    }

    @Test("JSON that is nested 10,000 levels deep is refused")
    func deep() async throws {
        indirect enum Nested: Decodable {
            case value(Int)
            case list([Nested])

            init(from decoder: any Decoder) throws {
                if let list = try? decoder.singleValueContainer().decode([Nested].self) {
                    self = .list(list)
                } else {
                    self = .value(try decoder.singleValueContainer().decode(Int.self))
                }
            }
        }
        let response = try APIResponse(String(repeating: "[", count: 10_000) + "1" + String(repeating: "]", count: 10_000))
        let error = await failure { try JSONResponse(Nested.self).value(of: response) }
        #expect(error?.code == .malformedResponse)
    }

    @Test("Neither the description nor a dump of an error shows the response's content and headers")
    func hidden() async throws {
        let url = try #require(URL(string: "https://api.example.com/items"))
        let head = try #require(
            HTTPURLResponse(url: url, statusCode: 422, httpVersion: "HTTP/1.1", headerFields: ["Set-Cookie": "sid=canary"]))
        let response = APIResponse(data: Data("canary".utf8), head: head)
        let error = try #require(throws: APIError.self) { try response.check(statuses: 200..<300) }
        var dumped = ""
        dump(error, to: &dumped)
        for text in ["\(error)", String(reflecting: error), error.localizedDescription, dumped] {
            #expect(!text.contains("canary") && !text.contains("99, 97, 110"))
        }
        #expect(dumped.contains("422") && error.response?.data == response.data)
    }
}
