import HTTPTypes
import MessageSignatures
import Testing

@Suite struct ContentDigestTests {
    private let content = Array(#"{"hello": "world"}"#.utf8)
    private let sha256 = "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"
    private let sha512 = "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"

    @Test("A digest is written as the examples of RFC 9530 have it, and the empty content's as the original sends it")
    func written() {
        #expect(ContentDigest(of: content).fieldValue == sha256)
        #expect(ContentDigest(of: content, .sha512).fieldValue == sha512)
        #expect(ContentDigest(of: []).fieldValue == "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
    }

    @Test("Content in parts has the same digest, with one algorithm or both")
    func parts() throws {
        var hasher = ContentDigest.Hasher([.sha512, .sha256])
        for part in [Array(content[..<5]), [], Array(content[5...])] { hasher.update(part) }
        let digest = hasher.finalize()
        #expect(digest.fieldValue == "\(sha512), \(sha256)")
        #expect(digest.algorithms == [.sha512, .sha256])
        let read = try #require(try ContentDigest.read(from: fields(["Content-Digest": sha512, "content-digest": sha256])))
        #expect(read == digest)
        try read.check(content)
        try read.check(digest)
    }

    @Test("Another content, a right digest beside a wrong one, and a digest that is cut, do not pass")
    func mismatch() throws {
        for value in [sha256, "\(sha256), sha-512=:AAAA:", "sha-256=::", "sha-256=:X48E:"] {
            let digest = try #require(try ContentDigest.read(from: fields(["Content-Digest": value])))
            #expect(code { try digest.check(Array(#"{"hello": "World"}"#.utf8)) } == .digestMismatch, "\(value)")
            #expect(code { try digest.check([]) } == .digestMismatch, "\(value)")
        }
        let mixed = try #require(try ContentDigest.read(from: fields(["Content-Digest": "\(sha256), sha-512=:AAAA:"])))
        #expect(code { try mixed.check(content) } == .digestMismatch)
    }

    @Test("A field that is missing is not one that cannot be read")
    func reading() throws {
        #expect(try ContentDigest.read(from: [:]) == nil)
        let bad: [(KeyValuePairs<String, String>, MessageSignatureError.Code)] = [
            (["Content-Digest": ""], .malformedField), (["Content-Digest": "sha-256"], .malformedField),
            (["Content-Digest": "sha-256=X48E"], .malformedField), (["Content-Digest": "sha-256=:X48E:;a"], .malformedField),
            (["Content-Digest": "md5=:AAAA:"], .unknownDigest), (["Content-Digest": "\(sha256), unixsum=:AAAA:"], .unknownDigest),
            (["Content-Digest": "sha-256=:AAAA:, sha-256=:AAAA:"], .duplicateName),
            (["Content-Digest": sha256, "Content-Digest": sha256], .duplicateName),
            (["Content-Digest": #"sha-256="X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=""#], .malformedField),
        ]
        for (lines, expected) in bad {
            #expect(code { _ = try ContentDigest.read(from: fields(lines)) } == expected, "\(lines)")
        }
        let string = fields(["Content-Digest": #"sha-256="X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=""#])
        try ContentDigest.read(from: string, acceptingStrings: true)?.check(content)
        #expect(
            code { _ = try ContentDigest.read(from: fields(["Content-Digest": #"sha-256="!""#]), acceptingStrings: true) }
                == .malformedField)
    }
}
