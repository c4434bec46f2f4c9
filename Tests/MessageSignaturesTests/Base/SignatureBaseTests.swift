import HTTPTypes
import MessageSignatures
import Testing

@Suite struct SignatureBaseTests {
    @Test("A base has a line for each component and one for the parameters, without a line end at its end")
    func lines() throws {
        let request = try request()
        var parameters = SignatureParameters([.method, .targetURI, .field(.contentType)])
        parameters.algorithm = "ecdsa-p256-sha256"
        parameters.created = 1_700_000_000
        parameters.expires = 1_700_000_015
        let base = try SignatureBase(.request(request), parameters: parameters)
        let list = #"("@method" "@target-uri" "content-type");alg="ecdsa-p256-sha256";created=1700000000;expires=1700000015"#
        #expect(base.signatureParameters == list)
        #expect(
            String(decoding: base.bytes, as: UTF8.self) == """
                "@method": POST
                "@target-uri": https://api.example.com/shapes?a=1&b=2
                "content-type": text/plain
                "@signature-params": \(list)
                """)
    }

    @Test("Nothing covered is a base of one line")
    func empty() throws {
        #expect(try baseText(.request(request()), []) == #""@signature-params": ()"#)
    }

    @Test("The digest for debugging is that of the base")
    func debugDigest() throws {
        let base = try SignatureBase(.request(request()), parameters: SignatureParameters([]))
        #expect(base.debugDigest == ContentDigest(of: base.bytes).fieldValue)
    }

    @Test("A component that is covered twice is refused, also with its parameters in another order")
    func duplicates() throws {
        let request = try request()
        #expect(code { _ = try baseText(.request(request), [.method, .path, .method]) } == .duplicateComponent)
        let components = try [SignatureComponent("x", [.structured, .trailer]), SignatureComponent("x", [.trailer, .structured])]
        var message = request
        message.trailers = fields(["X": "1"])
        #expect(
            code { _ = try baseText(.request(message), components, structuredFields: StructuredFields(["x": .item])) }
                == .duplicateComponent)
        #expect(code { _ = try baseText(.request(request), [.query, .queryParameter("a")]) } == nil)
    }

    @Test("A field that is not ASCII cannot be covered but as bytes, and the error names the component but shows no value")
    func nonASCII() throws {
        let message = SignableMessage.request(try request("GET", "https://example.com/", ["A": "a", "X": "canary é", "Z": "z"]))
        let components = try ["a", "x", "z"].map { try SignatureComponent($0) }
        let error = #expect(throws: MessageSignatureError.self) { try baseText(message, components) }
        #expect(error?.code == .malformedField && error?.message.contains(#"component "x" is not ASCII"#) == true)
        #expect(error?.message.contains("canary") == false && error?.message.contains("additionalFields") == true)
        #expect(try baseText(message, [SignatureComponent("x", [.bytes])]).hasPrefix(#""x";bs: :Y2FuYXJ5IMOp:"#))
    }
}
