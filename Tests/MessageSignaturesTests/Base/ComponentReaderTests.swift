import Foundation
import HTTPTypes
import MessageSignatures
import Testing

@Suite struct ComponentReaderTests {
    /// The lines of a base but for the last one.
    private func lines(
        _ message: SignableMessage, _ components: [SignatureComponent], structuredFields: StructuredFields = .known
    ) throws -> [String] {
        Array(try baseText(message, components, structuredFields: structuredFields).components(separatedBy: "\n").dropLast())
    }

    @Test("Derived components have the values of RFC 9421, section 2.2")
    func derived() throws {
        let request = try request("GET", "https://WWW.Example.com:8080/a%20b?queryString=1", [:])
        #expect(
            try lines(.request(request), [.method, .targetURI, .authority, .scheme, .requestTarget, .path, .query]) == [
                #""@method": GET"#, #""@target-uri": https://WWW.Example.com:8080/a%20b?queryString=1"#,
                #""@authority": www.example.com:8080"#, #""@scheme": https"#, #""@request-target": /a%20b?queryString=1"#,
                #""@path": /a%20b"#, #""@query": ?queryString=1"#,
            ])
        let bare = try MessageSignaturesTests.request("OPTIONS", "http://example.com", [:])
        #expect(try lines(.request(bare), [.path, .query]) == [#""@path": /"#, #""@query": ?"#])
        var whole = bare
        whole.requestTarget = "*"
        #expect(try lines(.request(whole), [.requestTarget]) == [#""@request-target": *"#])
    }

    @Test("Lines of a field are trimmed and joined with a comma and a space, empty ones too")
    func fieldLines() throws {
        var request = try request("GET", "https://example.com/", ["X-Empty": "", "Cache-Control": "  max-age=60\t", "X-Two": "a,b"])
        request.fields.append(HTTPField(name: .cacheControl, value: "\t  must-revalidate "))
        request.fields.append(HTTPField(name: HTTPField.Name("x-TWO")!, value: ""))
        #expect(
            try lines(.request(request), [.field(.cacheControl), SignatureComponent("x-two"), SignatureComponent("x-empty")]) == [
                #""cache-control": max-age=60, must-revalidate"#, #""x-two": a,b, "#, #""x-empty": "#,
            ])
    }

    @Test("Structured fields have their strict form, and one member has its own (RFC 9421, sections 2.1.1 and 2.1.2)")
    func structured() throws {
        let message = SignableMessage.request(
            try request(
                "GET", "https://example.com/",
                ["Example-Dict": "  a=1,    b=2;x=1;y=2,   c=(a   b   c)", "Example-Dict": "d,  e=:AAE=: ", "Priority": "u=1 ,   i"]))
        let known = StructuredFields.known.adding(["example-dict": .dictionary])
        #expect(
            try lines(
                message,
                [
                    SignatureComponent("example-dict", [.structured]), SignatureComponent("example-dict", [.key("a")]),
                    SignatureComponent("example-dict", [.key("b")]), SignatureComponent("example-dict", [.key("c")]),
                    SignatureComponent("example-dict", [.key("d")]), SignatureComponent("priority", [.structured]),
                ], structuredFields: known) == [
                    #""example-dict";sf: a=1, b=2;x=1;y=2, c=(a b c), d, e=:AAE=:"#, #""example-dict";key="a": 1"#,
                    #""example-dict";key="b": 2;x=1;y=2"#, #""example-dict";key="c": (a b c)"#, #""example-dict";key="d": ?1"#,
                    #""priority";sf: u=1, i"#,
                ])
    }

    @Test("A byte sequence of a structured field is written as padded base64, and another text is malformed (RFC 9651, section 4.2.7)")
    func byteSequences() throws {
        let known = StructuredFields(["x-item": .item, "x-list": .list, "x-dict": .dictionary])
        let message = SignableMessage.request(
            try request(
                "GET", "https://example.com/",
                ["X-Item": ":aGVsbG8:;p=:aB==:", "X-List": "(:aA: 1);p=:YQ:,  :aGVsbG9=:", "X-Dict": "a=:aA=:, b=(:YQ:), c=::"]))
        #expect(
            try lines(
                message,
                [
                    SignatureComponent("x-item", [.structured]), SignatureComponent("x-list", [.structured]),
                    SignatureComponent("x-dict", [.structured]), SignatureComponent("x-dict", [.key("a")]),
                ], structuredFields: known) == [
                    #""x-item";sf: :aGVsbG8=:;p=:aA==:"#, #""x-list";sf: (:aA==: 1);p=:YQ==:, :aGVsbG8=:"#,
                    #""x-dict";sf: a=:aA==:, b=(:YQ==:), c=::"#, #""x-dict";key="a": :aA==:"#,
                ])
        for text in [":====:", ":a:", ":aGVsbG8==:", ":aA=b:", "1;p=:=:"] {
            let message = SignableMessage.request(try request("GET", "https://example.com/", ["X-Item": text]))
            let components = [try SignatureComponent("x-item", [.structured])]
            #expect(code { _ = try lines(message, components, structuredFields: known) } == .malformedField, "\(text)")
        }
    }

    @Test("A field in the header, in the trailers and in the request are three fields")
    func structuredPlaces() throws {
        var request = try request("GET", "https://example.com/", ["Priority": "u=1"])
        request.trailers = fields(["Priority": "u=2"])
        var response = try SignableResponse(status: 200, fields: fields(["Priority": "u=3"]), answering: request)
        response.trailers = fields(["Priority": "u=4"])
        let places: [[SignatureComponent.Parameter]] = [[.request], [.trailer, .request], [], [.trailer]]
        #expect(
            try lines(.response(response), places.map { try SignatureComponent("priority", [.key("u")] + $0) }) == [
                #""priority";key="u";req: 1"#, #""priority";key="u";tr;req: 2"#, #""priority";key="u": 3"#, #""priority";key="u";tr: 4"#,
            ])
    }

    @Test("Each line of a field becomes a byte sequence (RFC 9421, section 2.1.3)")
    func bytes() throws {
        let message = SignableMessage.request(
            try request("GET", "https://example.com/", ["Example-Header": "value, with, lots", "Example-Header": " of, commas "]))
        #expect(
            try lines(message, [SignatureComponent("example-header", [.bytes])])
                == [#""example-header";bs: :dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:"#])
    }

    @Test("Several cookies can only be covered as bytes")
    func cookies() throws {
        let name = SignatureComponent.field(.setCookie)
        let one = SignableMessage.response(try SignableResponse(status: 200, fields: fields(["Set-Cookie": "a=1, b"])))
        #expect(try lines(one, [name]) == [#""set-cookie": a=1, b"#])
        let two = SignableMessage.response(try SignableResponse(status: 200, fields: fields(["Set-Cookie": "a=1", "Set-Cookie": "b"])))
        #expect(code { _ = try lines(two, [name]) } == .invalidComponent)
        #expect(try lines(two, [SignatureComponent("set-cookie", [.bytes])]) == [#""set-cookie";bs: :YT0x:, :Yg==:"#])
    }

    @Test("A structured field has at most 64 commas and semicolons, and at most 16 KiB, in all its lines")
    func structuredLimits() throws {
        func refusal(_ values: String...) throws -> MessageSignatureError.Code? {
            var request = try request("GET", "https://example.com/", [:])
            for value in values { request.fields.append(HTTPField(name: .priority, value: value)) }
            return code { _ = try lines(.request(request), [SignatureComponent("priority", [.structured])]) }
        }
        func members(_ numbers: Range<Int>) -> String { numbers.map { "k\($0)" }.joined(separator: ",") }
        func parameters(_ count: Int) -> String { "a" + (0..<count).map { ";k\($0)" }.joined() }
        func text(_ count: Int) -> String { "a=\"" + String(repeating: "x", count: count - 4) + "\"" }
        #expect(try refusal(members(0..<65)) == nil)
        #expect(try refusal(members(0..<66)) == .malformedField)
        #expect(try refusal(members(0..<40), members(40..<65)) == nil)
        #expect(try refusal(members(0..<40), members(40..<66)) == .malformedField)
        #expect(try refusal(parameters(64)) == nil)
        #expect(try refusal(parameters(65)) == .malformedField)
        #expect(try refusal(text(16 * 1024)) == nil)
        #expect(try refusal(text(16 * 1024 + 1)) == .malformedField)
    }

    @Test("A request target that is not visible ASCII is refused, so that it cannot forge a line of the base")
    func forgedRequestTarget() throws {
        var request = try request("GET", "https://example.com/", [:])
        for target in ["/x\n\"@method\": DELETE", "/x\r", "/x y", "/\t", "/\u{7F}", "/\u{0}", "/é"] {
            request.requestTarget = target
            let message = SignableMessage.request(request)
            #expect(code { _ = try lines(message, [.requestTarget]) } == .invalidMessage, "\(target.debugDescription)")
            #expect(try lines(message, [.path]) == [#""@path": /"#])
        }
        request.requestTarget = "example.com:443"
        #expect(try lines(.request(request), [.requestTarget]) == [#""@request-target": example.com:443"#])
    }

    @Test("Trailers are other fields than headers (RFC 9421, section 2.1.4)")
    func trailers() throws {
        var response = try SignableResponse(status: 200, fields: fields(["Expires": "header"]))
        #expect(code { _ = try lines(.response(response), [SignatureComponent("expires", [.trailer])]) } == .missingComponent)
        response.trailers = fields(["Expires": "trailer"])
        #expect(
            try lines(.response(response), [SignatureComponent("expires"), SignatureComponent("expires", [.trailer])])
                == [#""expires": header"#, #""expires";tr: trailer"#])
    }

    @Test("A response covers its status, and with req the request that it answers (RFC 9421, section 2.4)")
    func responses() throws {
        var request = try request("POST", "https://example.com/foo?param=Value&Pet=dog", ["Content-Digest": "sha-256=:AA==:"])
        request.trailers = fields(["X": "t"])
        let response = try SignableResponse(status: 503, fields: fields(["Content-Type": "application/json"]), answering: request)
        #expect(
            try lines(
                .response(response),
                [
                    .status, .field(.contentType), .contentDigest.ofRequest, .method.ofRequest, .authority.ofRequest, .path.ofRequest,
                    .queryParameter("Pet").ofRequest, SignatureComponent("x", [.trailer, .request]),
                ]) == [
                    #""@status": 503"#, #""content-type": application/json"#, #""content-digest";req: sha-256=:AA==:"#,
                    #""@method";req: POST"#, #""@authority";req: example.com"#, #""@path";req: /foo"#,
                    #""@query-param";name="Pet";req: dog"#, #""x";tr;req: t"#,
                ])
        let alone = try SignableResponse(status: 200, fields: [:])
        #expect(code { _ = try lines(.response(alone), [.method.ofRequest]) } == .missingComponent)
        // A request has no status.
        #expect(code { _ = try lines(.response(response), [.status.ofRequest]) } == .invalidComponent)
    }

    @Test("A component that does not fit the kind of message, is missing, or is no known structured field, is refused")
    func bad() throws {
        let request = SignableMessage.request(try request("GET", "https://example.com/", ["X": "a b", "Priority": "u=;"]))
        let response = SignableMessage.response(try SignableResponse(status: 200, fields: fields(["X": "1"])))
        #expect(code { _ = try lines(request, [.status]) } == .invalidComponent)
        #expect(code { _ = try lines(request, [.method.ofRequest]) } == .invalidComponent)
        #expect(code { _ = try lines(request, [SignatureComponent("x", [.request])]) } == .invalidComponent)
        #expect(code { _ = try lines(response, [.method]) } == .invalidComponent)
        #expect(code { _ = try lines(response, [.path]) } == .invalidComponent)
        #expect(code { _ = try lines(request, [.field(.contentType)]) } == .missingComponent)
        #expect(code { _ = try lines(request, [SignatureComponent("x", [.structured])]) } == .invalidComponent)
        #expect(code { _ = try lines(request, [SignatureComponent("priority", [.structured])]) } == .malformedField)
        #expect(code { _ = try lines(request, [SignatureComponent("priority", [.key("u")])]) } == .malformedField)
        let known = StructuredFields(["x": .item])
        #expect(code { _ = try lines(response, [SignatureComponent("x", [.key("a")])], structuredFields: known) } == .invalidComponent)
        let dictionary = StructuredFields(["x": .dictionary])
        let other = SignableMessage.response(try SignableResponse(status: 200, fields: fields(["X": "a=1"])))
        #expect(code { _ = try lines(other, [SignatureComponent("x", [.key("b")])], structuredFields: dictionary) } == .missingComponent)
    }
}
