import APIClient
import Approov
import ApproovBase
import ApproovTesting
import Foundation
import FoundationNetworking
import TestTags
import Testing

// Acceptance list: S2.11
/// Three other libraries parse our forms, which a session sends to a server of theirs.
@Suite(
    .tags(.sockets, .processes), .timeLimit(.minutes(5)),
    .enabled(PythonServer.whatIsMissing) { await PythonServer.isPossible() })
struct FormServerTests {
    /// A part as a library found it: name, file name, media type, content.
    struct Found: Decodable, Hashable {
        let name: [UInt8]
        let filename: [UInt8]?
        let type: String
        let content: [UInt8]

        init(name: String, filename: String? = nil, type: String = "", content: some Sequence<UInt8>) {
            self.init(name: Array(name.utf8), filename: filename.map { Array($0.utf8) }, type: type, content: content)
        }

        init(name: [UInt8], filename: [UInt8]? = nil, type: String = "", content: some Sequence<UInt8>) {
            self.name = name
            self.filename = filename
            self.type = type
            self.content = Array(content)
        }

        init(from decoder: any Decoder) throws {
            var values = try decoder.unkeyedContainer()
            func bytes(_ text: String) throws -> [UInt8] { [UInt8](try #require(Data(base64Encoded: text))) }
            name = try bytes(values.decode(String.self))
            filename = try values.decodeIfPresent(String.self).map(bytes)
            type = try values.decode(String.self)
            content = try bytes(values.decode(String.self))
        }
    }

    private struct Answer: Decodable {
        let werkzeug: [Found]
        let pythonMultipart: [Found]
        /// What multipart found in a form that is multipart.
        let multipart: [Found]
        /// What Python's own library found in a form that is not multipart.
        let pairs: [Found]
    }

    private func send(_ body: some BodySerializer, to server: PythonServer, with session: ApproovSession) async throws -> Answer {
        var builder = RequestBuilder(url: server.url.appending(path: "form"), method: .post)
        builder.body = body
        let (request, content) = try builder.build()
        let (data, head) = try await session.upload(for: request, body: content)
        try #require(head.statusCode == 200)
        return try JSONDecoder().decode(Answer.self, from: data)
    }

    /// The bytes that UTF-8 can begin a character with (RFC 3629, section 4).
    private static let firstBytes = Array(0x00...0x7F) + Array(0xC2...0xF4) as [UInt8]
    /// The bytes that can occur in UTF-8: those, and those that continue a character.
    private static let bytesOfText = Set(firstBytes + Array(0x80...0xBF))

    /// A name of at most 12 characters, which begin with every byte that can begin one equally often.
    private static func name(_ random: inout SeededGenerator) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 1...12, using: &random) { text.unicodeScalars.append(scalar(&random)) }
        return text
    }

    private static func scalar(_ random: inout SeededGenerator) -> UnicodeScalar {
        let first = UInt32(firstBytes.randomElement(using: &random) ?? 0)
        let range: ClosedRange<UInt32> =
            switch first {
            case ..<0x80: first...first
            case ..<0xE0: (first & 0x1F) << 6...(first & 0x1F) << 6 | 0x3F
            case ..<0xF0: max(0x800, (first & 0x0F) << 12)...(first & 0x0F) << 12 | 0xFFF
            default: max(0x1_0000, (first & 0x07) << 18)...min(0x10_FFFF, (first & 0x07) << 18 | 0x3_FFFF)
            }
        while true {
            // Surrogates are no characters.
            if let scalar = UnicodeScalar(UInt32.random(in: range, using: &random)) { return scalar }
        }
    }

    private static func content(_ random: inout SeededGenerator) -> [UInt8] {
        // Line ends and hyphens often, because delimiters consist of them.
        (0..<Int.random(in: 0...300, using: &random)).map { _ in
            Bool.random(using: &random) ? .random(in: 0...255, using: &random) : [13, 10, 45].randomElement(using: &random) ?? 0
        }
    }

    /// A name as it is written between quotation marks.
    private static func written(_ name: String) -> String { String(decoding: written(Array(name.utf8)), as: UTF8.self) }

    private static func written(_ name: [UInt8]) -> [UInt8] {
        name.flatMap { byte -> [UInt8] in
            switch byte {
            case 0x0D: Array("%0D".utf8)
            case 0x0A: Array("%0A".utf8)
            case 0x22: Array("%22".utf8)
            case 0x5C: Array("%5C".utf8)
            default: [byte]
            }
        }
    }

    /// The part as multipart gives it, which undoes the encoding of line ends and quotation marks.
    private static func withLineEndsAndQuotes(_ found: Found) -> Found {
        func undone(_ name: [UInt8]) -> [UInt8] {
            name.replacing("%0D".utf8, with: "\r".utf8).replacing("%0A".utf8, with: "\n".utf8).replacing("%22".utf8, with: "\"".utf8)
        }
        return Found(name: undone(found.name), filename: found.filename.map(undone), type: found.type, content: found.content)
    }

    /// A name that is not UTF-8.
    private static func foreignName(_ random: inout SeededGenerator) -> [UInt8] {
        (0..<Int.random(in: 0...12, using: &random)).map { _ in .random(in: 0...255, using: &random) } + [0xFF]
    }

    /// The text after each valid character was decoded from its percent-encoding; no other byte is decoded.
    private static func decoded(_ bytes: [UInt8]) -> [UInt8] {
        var (parser, iterator) = (Unicode.UTF8.ForwardParser(), bytes.makeIterator())
        var result: [UInt8] = []
        var position = 0
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let scalar):
                result += scalar
                position += scalar.count
            case .error(let length):
                for byte in bytes[position..<position + length] { result += Array("%\(String(byte, radix: 16, uppercase: true))".utf8) }
                position += length
            case .emptyInput: return result
            }
        }
    }

    @Test("500 random multipart forms arrive as they are, with every byte in names and contents")
    func multipart() async throws {
        let session = try ApproovSession(service: nil)
        var random = SeededGenerator(seed: 14)
        var seen: Set<UInt8> = []
        // The bytes of the names that were sent, and of those that each library found.
        var names: (sent: Set<UInt8>, werkzeug: Set<UInt8>, pythonMultipart: Set<UInt8>) = ([], [], [])
        var foreignNames: (pythonMultipart: Set<UInt8>, multipart: Set<UInt8>) = ([], [])
        try await PythonServer.with { server in
            let folder = try TemporaryFolder()
            for number in 0..<500 {
                var body = MultipartBody()
                var expected: [Found] = []
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    let name = Self.name(&random)
                    let filename = Self.name(&random)
                    let content = Self.content(&random)
                    seen.formUnion(content)
                    names.sent.formUnion(name.utf8)
                    switch Int.random(in: 0...3, using: &random) {
                    case 0:
                        let text = Self.name(&random)
                        body.append(FormPart(name: name, content: .text(text)))
                        expected.append(Found(name: Self.written(name), content: text.utf8))
                    case 1:
                        body.append(FormPart(name: name, filename: filename, content: .image(Data(content), .png)))
                        expected.append(
                            Found(name: Self.written(name), filename: Self.written(filename), type: "image/png", content: content))
                    case 2:
                        let path = try folder.write(content, to: "part-\(number)-\(expected.count)")
                        body.append(FormPart(name: name, filename: filename, content: .file(path: path, type: "application/x-any")))
                        expected.append(
                            Found(name: Self.written(name), filename: Self.written(filename), type: "application/x-any", content: content))
                    default:
                        body.append(FormPart(name: name, filename: filename, content: .pdf(Data(content))))
                        expected.append(
                            Found(name: Self.written(name), filename: Self.written(filename), type: "application/pdf", content: content))
                    }
                }
                let answer = try await send(body, to: server, with: session)
                #expect(answer.pythonMultipart == expected, "form \(number)")
                // This library undoes the encoding of quotation marks, and lists the fields before the files.
                func unquoted(_ text: [UInt8]) -> String { String(decoding: text.replacing("%22".utf8, with: "\"".utf8), as: UTF8.self) }
                let undone = expected.map { found in
                    Found(
                        name: unquoted(found.name), filename: found.filename.map(unquoted), type: found.type, content: found.content)
                }
                #expect(Set(answer.werkzeug) == Set(undone) && answer.werkzeug.count == undone.count, "form \(number)")
                for found in answer.werkzeug { names.werkzeug.formUnion(found.name) }
                for found in answer.pythonMultipart { names.pythonMultipart.formUnion(found.name) }

                #expect(answer.multipart == expected.map(Self.withLineEndsAndQuotes), "form \(number)")

                // Names that are not UTF-8: the two libraries that give bytes give these, and werkzeug drops a form that has one.
                let (name, filename) = (Self.foreignName(&random), Self.foreignName(&random))
                let content = Self.content(&random)
                let part = FormPart(nameBytes: name, filenameBytes: filename, content: .pdf(Data(content)))
                let foreign = try await send(MultipartBody([part]), to: server, with: session)
                let found = Found(
                    name: Self.written(name), filename: Self.written(filename), type: "application/pdf", content: content)
                #expect(foreign.pythonMultipart == [found] && foreign.werkzeug.isEmpty, "form \(number)")
                #expect(foreign.multipart == [Self.withLineEndsAndQuotes(found)], "form \(number)")
                for found in foreign.pythonMultipart { foreignNames.pythonMultipart.formUnion(found.name) }
                for found in foreign.multipart { foreignNames.multipart.formUnion(found.name) }
            }
        }
        #expect(seen.count == 256)
        // python-multipart gives these four as they are written, and multipart only the backslash.
        #expect(foreignNames.pythonMultipart == Set(0...255).subtracting("\r\n\"\\".utf8))
        #expect(foreignNames.multipart == Set(0...255).subtracting("\\".utf8))
        #expect(names.sent == Self.bytesOfText)
        // These arrive as they are written between quotation marks.
        #expect(names.pythonMultipart == Self.bytesOfText.subtracting("\r\n\"\\".utf8))
        #expect(names.werkzeug == Self.bytesOfText.subtracting("\r\n\\".utf8))
    }

    @Test("500 random forms arrive as they are, with every byte in names and contents")
    func form() async throws {
        let session = try ApproovSession(service: nil)
        var random = SeededGenerator(seed: 15)
        var names: (werkzeug: Set<UInt8>, pythonMultipart: Set<UInt8>) = ([], [])
        var (texts, raws, rawNames): (Set<UInt8>, Set<UInt8>, Set<UInt8>) = ([], [], [])
        try await PythonServer.with { server in
            for number in 0..<500 {
                var parameters: [QueryParameter] = []
                var expected: [Found] = []
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    let name = Self.name(&random)
                    let text = Self.name(&random)
                    parameters.append(QueryParameter(name, .string(text)))
                    expected.append(Found(name: name, content: text.utf8))
                }
                let answer = try await send(FormBody(.dictionary(parameters)), to: server, with: session)
                #expect(answer.pythonMultipart == expected && answer.pairs == expected, "form \(number)")
                #expect(Set(answer.werkzeug) == Set(expected) && answer.werkzeug.count == expected.count, "form \(number)")
                for found in answer.werkzeug { names.werkzeug.formUnion(found.name) }
                for found in answer.pythonMultipart {
                    names.pythonMultipart.formUnion(found.name)
                    texts.formUnion(found.content)
                }

                // Bytes that are not UTF-8: the two libraries that give bytes give these, and werkzeug leaves them as they were sent.
                let bytes = Self.content(&random) + [0xFF]
                let name = Self.foreignName(&random)
                let parameter = QueryParameter(nameBytes: name, .bytes(bytes))
                let raw = try await send(FormBody(.dictionary([parameter])), to: server, with: session)
                let found = [Found(name: name, content: bytes)]
                #expect(raw.pythonMultipart == found && raw.pairs == found, "form \(number)")
                #expect(raw.werkzeug == [Found(name: Self.decoded(name), content: Self.decoded(bytes))], "form \(number)")
                for found in raw.pairs {
                    raws.formUnion(found.content)
                    rawNames.formUnion(found.name)
                }
            }
        }
        #expect(names.werkzeug == Self.bytesOfText && names.pythonMultipart == Self.bytesOfText && texts == Self.bytesOfText)
        #expect(raws.count == 256 && rawNames.count == 256)
    }
}
