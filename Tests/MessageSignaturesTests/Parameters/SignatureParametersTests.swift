import MessageSignatures
import Testing

@Suite struct SignatureParametersTests {
    private func text(_ change: (inout SignatureParameters) -> Void) throws -> String {
        var parameters = SignatureParameters([])
        change(&parameters)
        return try SignatureBase(.request(request()), parameters: parameters).signatureParameters
    }

    @Test("Parameters are written in the order in which they were first set")
    func order() throws {
        #expect(
            try text {
                $0.tag = "t"
                $0.created = 1
                $0.keyID = "k"
                $0.nonce = "n"
                $0.algorithm = "a"
                $0.expires = 2
                $0.tag = "u"
            } == #"();tag="u";created=1;keyid="k";nonce="n";alg="a";expires=2"#)
        #expect(
            try text {
                $0.created = 1
                $0.expires = 2
                $0.created = nil
                $0.nonce = nil
            } == "();expires=2")
    }

    @Test("Texts are quoted")
    func quoting() throws {
        #expect(try text { $0.keyID = #"a"b\c"# } == #"();keyid="a\"b\\c""#)
    }

    @Test("A text that is not printable ASCII and a time that a structured field cannot have are refused")
    func bad() {
        for bad in ["é", "a\n", "\u{7F}"] {
            #expect(code { _ = try text { $0.keyID = bad } } == .invalidParameter)
            #expect(code { _ = try text { $0.nonce = bad } } == .invalidParameter)
            #expect(code { _ = try text { $0.tag = bad } } == .invalidParameter)
        }
        #expect(code { _ = try text { $0.created = -1 } } == .invalidParameter)
        #expect(code { _ = try text { $0.expires = 1_000_000_000_000_000 } } == .invalidParameter)
    }
}
