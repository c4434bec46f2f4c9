import Foundation
import HTTPTypes

@testable import OHTTP

/// Messages with every part that a message can have.
enum Samples {
    static let fields: HTTPFields = {
        var fields = HTTPFields()
        for (name, value) in [
            ("Accept", "*/*"), ("x-two", "first"), ("cookie", "a=1"), ("X-Two", "second"), ("cookie", "b=2"), ("x-empty", ""),
        ] {
            guard let name = HTTPField.Name(name) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }()

    static let trailers: HTTPFields = [HTTPField.Name("x-checksum") ?? .eTag: "abc", HTTPField.Name("x-other") ?? .age: "def"]

    static let request = BinaryHTTPRequest(
        head: HTTPRequest(method: .post, scheme: "https", authority: "api.example.com:8443", path: "/v1/a%20b?q=1&r", headerFields: fields),
        body: Data(pattern(300)), trailers: trailers)

    static let response = BinaryHTTPResponse(
        informational: [HTTPResponse(status: 102), HTTPResponse(status: 103, headerFields: [.link: "</a>; rel=preload"])],
        head: HTTPResponse(status: 200, headerFields: fields), body: Data(pattern(300, seed: 2)), trailers: trailers)

    /// The request in both framings, with and without padding.
    static func encodedRequests() throws -> [[UInt8]] {
        try [BinaryHTTPFraming.knownLength, .indeterminateLength].flatMap { framing in
            try [BinaryHTTPPadding.none, .padme].map { try request.encoded(framing: framing, padding: $0) }
        }
    }

    static func encodedResponses() throws -> [[UInt8]] {
        try [BinaryHTTPFraming.knownLength, .indeterminateLength].flatMap { framing in
            try [BinaryHTTPPadding.none, .padme].map { try response.encoded(framing: framing, padding: $0) }
        }
    }

    /// The result of parsing a message in parts, with the content in one piece.
    static func parse(_ kind: MessageParser.Kind, _ parts: [Data], limits: BinaryHTTPLimits = BinaryHTTPLimits()) throws -> Parsed {
        var parser = MessageParser(kind, limits: limits)
        var parsed = Parsed()
        for part in parts {
            try parser.append(part)
            while let event = try parser.next() { parsed.take(event) }
        }
        parser.finish()
        while let event = try parser.next() { parsed.take(event) }
        return parsed
    }

    struct Parsed: Equatable {
        var request: HTTPRequest?
        var responses: [HTTPResponse] = []
        var body = Data()
        var trailers = HTTPFields()
        var isComplete = false

        mutating func take(_ part: MessageParser.Part) {
            switch part {
            case .requestHead(let head): request = head
            case .informational(let head), .responseHead(let head): responses.append(head)
            case .body(let bytes): body += bytes
            case .trailers(let fields): trailers = fields
            case .end: isComplete = true
            }
        }
    }
}

extension HTTPField.Name {
    static var link: HTTPField.Name { HTTPField.Name("link") ?? .location }
}

extension [UInt8] {
    /// A string with its length in front, for messages written by hand.
    static func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + text.utf8 }

    /// A field line.
    static func line(_ name: String, _ value: String) -> [UInt8] { text(name) + text(value) }

    /// A framing indicator and the control data of a GET request for https://a/.
    static func get(_ indicator: UInt8) -> [UInt8] { [indicator] + text("GET") + text("https") + text("a") + text("/") }
}
