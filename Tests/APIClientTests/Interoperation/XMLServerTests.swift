import APIClient
import Approov
import ApproovBase
import ApproovTesting
import Foundation
import FoundationNetworking
import TestTags
import Testing

// Acceptance list: S2.11
/// Another library reads the documents that we write, and writes documents that we read.
@Suite(
    .tags(.sockets, .processes), .timeLimit(.minutes(5)),
    .enabled(PythonServer.whatIsMissing) { await PythonServer.isPossible() })
struct XMLServerTests {
    /// A tree as lxml has it: text and elements take turns.
    private struct Tree: Decodable, Hashable {
        enum Child: Decodable, Hashable {
            case element(Tree)
            case text(String)

            init(from decoder: any Decoder) throws {
                if let text = try? decoder.singleValueContainer().decode(String.self) {
                    self = .text(text)
                } else {
                    self = .element(try Tree(from: decoder))
                }
            }
        }

        let name: String
        let attributes: [[String]]
        let children: [Child]

        init(_ element: XMLElement) {
            name = element.name
            attributes = element.attributes.map { [$0.name, $0.value] }
                .sorted { $0[0].unicodeScalars.map(\.value).lexicographicallyPrecedes($1[0].unicodeScalars.map(\.value)) }
            var children: [Child] = []
            var text = ""
            for child in element.children {
                switch child {
                case .text(let more): text += more
                case .element(let element):
                    children += [.text(text), .element(Tree(element))]
                    text = ""
                }
            }
            self.children = children + [.text(text)]
        }
    }

    private struct Maker {
        var random: SeededGenerator

        mutating func name() -> String {
            let first = "abcxyzABCXYZ_éλж語"
            let further = first + "0189.-·"
            return String(first.randomElement(using: &random) ?? "a")
                + String((0..<Int.random(in: 0...6, using: &random)).map { _ in further.randomElement(using: &random) ?? "a" })
        }

        mutating func text() -> String {
            let special = Array("<>&\"'\r\n\t ]]>\u{85}\u{2028}\u{A0}\u{FFFD}\u{1F431}\u{D7FF}\u{E000}\u{10FFFF}é".unicodeScalars)
            var text = ""
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let scalar =
                    Bool.random(using: &random)
                    ? special.randomElement(using: &random) : UnicodeScalar(.random(in: 32...126, using: &random))
                text.unicodeScalars.append(scalar ?? "x")
            }
            return text
        }

        mutating func element(depth: Int) -> XMLElement {
            var element = XMLElement(name())
            for _ in 0..<Int.random(in: 0...3, using: &random) { element[attribute: name()] = text() }
            var wasText = false
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                if wasText || Bool.random(using: &random), depth > 0 {
                    element.children.append(.element(self.element(depth: depth - 1)))
                    wasText = false
                } else if !wasText {
                    element.children.append(.text(text()))
                    wasText = true
                }
            }
            return element
        }
    }

    private func send(_ element: XMLElement, encoding: String?, to server: PythonServer, with session: ApproovSession) async throws -> Data
    {
        var builder = RequestBuilder(url: server.url.appending(path: "xml"), method: .post)
        builder.body = XMLBody(element)
        builder.headers["X-Encoding"] = encoding
        let (request, body) = try builder.build()
        let (data, head) = try await session.upload(for: request, body: body)
        try #require(head.statusCode == 200)
        return data
    }

    @Test("lxml reads 500 random trees as they are, and we read what it writes of them in UTF-8 and UTF-16")
    func trees() async throws {
        let session = try ApproovSession(service: nil)
        var maker = Maker(random: SeededGenerator(seed: 3))
        try await PythonServer.with { server in
            for number in 0..<500 {
                let element = maker.element(depth: 4)
                let read = try JSONDecoder().decode(Tree.self, from: try await send(element, encoding: nil, to: server, with: session))
                #expect(read == Tree(element), "tree \(number)")

                let answer = try await send(element, encoding: number % 2 == 0 ? "UTF-8" : "UTF-16", to: server, with: session)
                let text = try JSONDecoder().decode(String.self, from: answer)
                #expect(try XMLElement(parsing: try #require(Data(base64Encoded: text))) == element, "tree \(number)")
            }
        }
    }
}
