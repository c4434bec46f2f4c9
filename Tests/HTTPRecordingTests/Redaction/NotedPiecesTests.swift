import Testing

@testable import HTTPRecording

@Suite struct NotedPiecesTests {
    private func end(of text: String, at position: Int = 0, _ secrets: Set<String>) -> Int? {
        NotedPieces(of: Set(secrets.map { NotedSecret($0) })).end(in: Array(text.utf8), at: position)
    }

    @Test("The longest secret that begins at a place is found")
    func longest() {
        let secrets: Set = ["12345678", "123456789", "12345678ab", "12345678abcd", "short"]
        #expect(end(of: "x12345678", at: 1, secrets) == 9)
        #expect(end(of: "123456789", secrets) == 9)
        #expect(end(of: "12345678abc", secrets) == 10)
        #expect(end(of: "12345678abcde", secrets) == 12)
        #expect(end(of: "1234567", secrets) == nil && end(of: "short text", secrets) == nil && end(of: "", secrets) == nil)
    }

    @Test(
        "A long secret is found in pieces wherever it occurs, and its parts have at least 64 bytes", arguments: [128, 129, 200, 257, 1_000])
    func long(length: Int) {
        let secret = (0..<length).map { "\($0 % 7)\($0)" }.joined().prefix(length)
        let pieces = NotedPieces(of: [NotedSecret(secret)])
        let text = Array("ab \(secret)".utf8)
        var position = 3
        while position < text.count {
            guard let end = pieces.end(in: text, at: position) else { break }
            #expect((64...128).contains(end - position))
            position = end
        }
        #expect(position == text.count)
    }

    @Test("No piece ends within a character")
    func characters() {
        let secret = String(repeating: "a", count: 99) + "\u{E9}" + String(repeating: "b", count: 99)
        #expect(end(of: String(secret.prefix(100)) + "x", [secret]) == 101)
        #expect(end(of: secret, at: 101, [secret]) == 200)
    }

    @Test("Very many lengths with the same beginning take little longer than one", .timeLimit(.minutes(1)))
    func manyLengths() {
        let beginning = String(repeating: "1", count: 8)
        let secrets = Set((0..<20_000).map { beginning + String(repeating: "1", count: $0 % 100) + "a\($0)" })
        let pieces = NotedPieces(of: Set(secrets.map { NotedSecret($0) }))
        let text = Array(String(repeating: "1", count: 50_000).utf8)
        #expect(text.indices.allSatisfy { pieces.end(in: text, at: $0) == nil })
    }
}
