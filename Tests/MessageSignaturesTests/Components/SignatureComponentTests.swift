import HTTPTypes
import MessageSignatures
import Testing

@Suite struct SignatureComponentTests {
    @Test("An identifier is written with its parameters in the given order")
    func text() throws {
        #expect(SignatureComponent.targetURI.description == #""@target-uri""#)
        #expect(SignatureComponent.field(.contentType).description == #""content-type""#)
        #expect(SignatureComponent.method.ofRequest.description == #""@method";req"#)
        #expect(SignatureComponent.method.ofRequest.ofRequest == SignatureComponent.method.ofRequest)
        #expect(SignatureComponent.queryParameter("façade\": ").description == #""@query-param";name="fa%C3%A7ade%22%3A%20""#)
        let all = try SignatureComponent("example", [.structured, .key("a-1.*_"), .trailer, .request])
        #expect(all.description == #""example";sf;key="a-1.*_";tr;req"#)
        #expect(try SignatureComponent("x", [.bytes]).description == #""x";bs"#)
    }

    @Test("Two identifiers are equal whatever the order of their parameters")
    func equality() throws {
        let one = try SignatureComponent("x", [.key("a"), .request])
        let other = try SignatureComponent("x", [.request, .key("a")])
        #expect(one == other && one.hashValue == other.hashValue)
        #expect(try one != SignatureComponent("x", [.key("b"), .request]))
        #expect(try one != SignatureComponent("x", [.key("a")]))
        #expect(SignatureComponent.query != SignatureComponent.queryParameter("a"))
    }

    @Test("Names that are no component, and parameters that do not fit, are refused")
    func bad() {
        let bad: [(String, [SignatureComponent.Parameter])] = [
            ("", []), ("Content-Type", []), ("a b", []), ("a\"", []), ("@", []), ("@unknown", []), ("@signature-params", []), ("é", []),
            ("@method", [.structured]), ("@method", [.trailer]), ("@method", [.name("a")]), ("@status", [.request]),
            ("@query-param", []), ("@query-param", [.name("a"), .bytes]), ("@query-param", [.name("a"), .name("b")]),
            ("@query-param", [.name("a\n")]), ("x", [.name("a")]), ("x", [.bytes, .structured]), ("x", [.bytes, .key("a")]),
            ("x", [.request, .request]), ("x", [.key("a"), .key("b")]), ("x", [.key("A")]), ("x", [.key("")]), ("x", [.key("a b")]),
        ]
        for (name, parameters) in bad {
            #expect(code { _ = try SignatureComponent(name, parameters) } == .invalidComponent, "\(name) \(parameters)")
        }
    }
}
