import APIClient
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

extension NameUse {
    /// Conduit's builder, serializers and deserializers.
    static let conduitContent: [NameUse] = [
        NameUse("HTTPRequestBuilder(url:)") { (_) async throws in
            let builder = RequestBuilder(url: url, method: .post)
            #expect(try builder.build().request.httpMethod == "POST")
        },
        NameUse("queryStringParameters, percentEncodedQuery") { (_) async throws in
            var builder: RequestBuilder = RequestBuilder(url: url)
            builder.query = ["a": 1]
            #expect(try builder.build().request.url?.query() == "a=1")
            builder.percentEncodedQuery = "b=%32"
            #expect(try builder.build().request.url?.query() == "b=%32")
        },
        NameUse("queryStringFormattingOptions, arrayFormat, dictionaryFormat") { (world) async throws in
            let arrays: [(QueryFormat.Arrays, String)] = [
                (.indexed, "a%5B0%5D=1&a%5B1%5D=2"), (.bracketed, "a%5B%5D=1&a%5B%5D=2"), (.duplicatedKeys, "a=1&a=2"),
                (.commaSeparated, "a=1,2"),
            ]
            let dictionaries: [(QueryFormat.Dictionaries, String)] = [(.subscripted, "b%5Bc%5D=3"), (.dotNotated, "b.c=3")]
            var client = try client(world)
            var queries: [String] = []
            for (array, first) in arrays {
                for (dictionary, second) in dictionaries {
                    client.queryFormat = QueryFormat(arrays: array, dictionaries: dictionary, plus: .percentEncoded, space: .plus)
                    _ = try await client.resource("x").send(.get, query: ["a": [1, 2], "b": ["c": 3]])
                    queries.append("/x?\(first)&\(second)")
                }
            }
            #expect(world.apiRequests.map(\.url.target) == queries)
        },
        NameUse("plusSymbolEncodingRule, spaceEncodingRule") { (world) async throws in
            let pluses: [(QueryFormat.Plus, String)] = [(.percentEncoded, "%2B"), (.literal, "+"), (.percentEncodedSpace, "%20")]
            let spaces: [(QueryFormat.Space, String)] = [(.percentEncoded, "%20"), (.plus, "+")]
            var client = try client(world)
            var queries: [String] = []
            for (plus, first) in pluses {
                for (space, second) in spaces {
                    client.queryFormat = QueryFormat(plus: plus, space: space)
                    _ = try await client.resource("x").send(.get, query: ["a": "1+2 3"])
                    queries.append("/x?a=1\(first)2\(second)3")
                }
            }
            #expect(world.apiRequests.map(\.url.target) == queries)
        },
        NameUse("JSONRequestSerializer") { (_) async throws in
            var builder: RequestBuilder = RequestBuilder(url: url, method: .post)
            builder.body = try JSONBody(["name": "Tom"])
            #expect(try builder.build().request.value(forHTTPHeaderField: "Content-Type") == "application/json")
        },
        NameUse("FormEncodedRequestSerializer") { (_) async throws in
            #expect(try FormBody(["name": "Tom"], format: .form).serialize().contentType == "application/x-www-form-urlencoded")
        },
        NameUse("MultipartFormRequestSerializer, FormPart, append(formPart:)") { (world) async throws in
            let folder = try TemporaryFolder()
            let path = try folder.write("five", to: "five.txt")
            let parts: [(FormPart.Content, type: String?, text: String)] = [
                (.text("one"), nil, "one"), (.binary(Data("two".utf8)), "application/octet-stream", "two"),
                (.pdf(Data("three".utf8)), "application/pdf", "three"), (.video(Data("four".utf8), .mov), "video/quicktime", "four"),
                (.file(path: path, type: "text/plain"), "text/plain", "five"),
            ]
            var form: MultipartBody = MultipartBody()
            for part in parts { form.append(FormPart(name: "field", filename: "name", content: part.0)) }
            _ = try await client(world).resource("forms").send(.post, body: form)
            let request = try #require(world.apiRequests.first)
            let type = try #require(request.headerFields[.contentType])
            let boundary = type.split(separator: "boundary=").last ?? ""
            #expect(type == "multipart/form-data; boundary=\(boundary)")
            var expected = ""
            for part in parts {
                expected += "--\(boundary)\r\nContent-Disposition: form-data; name=\"field\"; filename=\"name\"\r\n"
                expected += (part.type.map { "Content-Type: \($0)\r\n" } ?? "") + "\r\n\(part.text)\r\n"
            }
            #expect(try await text(of: request) == expected + "--\(boundary)--\r\n")
        },
        NameUse(".image(UIImage, .jpeg(compressionQuality:))") { (world) async throws in
            let content = FormPart.Content.image(Data("\u{1}\u{2}".utf8), .jpeg)
            _ = try await client(world).resource("kittens").send(
                .post, body: MultipartBody([FormPart(name: "kitten", filename: "tom.jpg", content: content)]))
            let text = try await text(of: world.apiRequests.first)
            #expect(text.contains("name=\"kitten\"; filename=\"tom.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n\u{1}\u{2}\r\n"))
        },
        NameUse("XMLRequestSerializer, XMLResponseDeserializer") { (world) async throws in
            world.answer("<name>Tom</name>", type: "text/xml")
            let resource = try client(world).resource("kittens")
            let deserializer = XMLResponse(statuses: 200..<300, mediaTypes: ["text/xml"])
            let name = try await resource.send(.post, body: XMLBody(XMLElement("kitten")), with: deserializer)
            #expect(name.name == "name" && name.text == "Tom")
            #expect(field("Content-Type", of: world.apiRequests.first)?.hasPrefix("application/xml") == true)
            let sent = try await text(of: world.apiRequests.first)
            #expect(try XMLElement(parsing: sent).name == "kitten")
            world.answer("<name>Tom</name>", type: "application/xml")
            await #expect(throws: APIError(.unexpectedMediaType, "")) { try await resource.send(.get, with: deserializer) }
            world.answer("<name>Tom</name>", type: "text/xml", status: 500)
            await #expect(throws: APIError(.unexpectedStatus, "")) { try await resource.send(.get, with: deserializer) }
        },
        NameUse("XML, XMLNode") { (_) async throws in
            let element = try XMLElement(parsing: "<a>one <b>two</b></a>")
            #expect(element.elements(named: "b").first?.text == "two" && element.text == "one two")
        },
        NameUse("SOAPEnvelopeFactory") { (_) async throws in
            let envelope = SOAPEnvelope(version: .v1_1, action: "urn:a", body: [XMLElement("a")])
            #expect(try envelope.serialize().contentType.hasPrefix("text/xml"))
        },
        NameUse("JSONResponseDeserializer") { (world) async throws in
            world.answer(#"{"name":"Tom"}"#)
            let resource = try client(world).resource("kittens")
            let deserializer = JSONResponse([String: String].self, statuses: 200..<300, mediaTypes: ["application/json"])
            #expect(try await resource.send(.get, with: deserializer) == ["name": "Tom"])
            world.answer(#"{"name":"Tom"}"#, type: "text/plain")
            await #expect(throws: APIError(.unexpectedMediaType, "")) { try await resource.send(.get, with: deserializer) }
            world.answer(#"{"name":"Tom"}"#, status: 404)
            await #expect(throws: APIError(.unexpectedStatus, "")) { try await resource.send(.get, with: deserializer) }
        },
    ]
}
