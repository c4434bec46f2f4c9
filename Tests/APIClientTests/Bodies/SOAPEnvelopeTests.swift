import APIClient
import Testing

// Acceptance list: S2.11, S2.64
@Suite struct SOAPEnvelopeTests {
    private static let find = XMLElement(
        "c:Find", attributes: [.init("xmlns:c", "urn:cats")], children: [.element(XMLElement("c:name", text: "A&B"))])

    @Test("SOAP 1.1 has its namespace and media type, and the header SOAPAction, also without an action")
    func first() throws {
        let content = try SOAPEnvelope(version: .v1_1, action: "urn:cats#Find", headers: [XMLElement("h")], body: [Self.find]).serialize()
        #expect(content.contentType == "text/xml; charset=utf-8" && content.headers == ["SOAPAction": "\"urn:cats#Find\""])
        #expect(
            content.body.text
                == "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\">"
                + "<soap:Header><h/></soap:Header><soap:Body><c:Find xmlns:c=\"urn:cats\"><c:name>A&amp;B</c:name></c:Find></soap:Body>"
                + "</soap:Envelope>")
        #expect(try SOAPEnvelope(version: .v1_1, body: []).serialize().headers == ["SOAPAction": "\"\""])
    }

    @Test("SOAP 1.2 names its action in the media type")
    func second() throws {
        let content = try SOAPEnvelope(action: "urn:cats#Find", body: [Self.find]).serialize()
        #expect(content.contentType == "application/soap+xml; charset=utf-8; action=\"urn:cats#Find\"" && content.headers.isEmpty)
        #expect(try SOAPEnvelope(body: []).serialize().contentType == "application/soap+xml; charset=utf-8")
    }

    @Test("A message that was written is read again", arguments: SOAPEnvelope.Version.allCases)
    func roundTrip(_ version: SOAPEnvelope.Version) throws {
        let message = SOAPEnvelope(version: version, headers: [XMLElement("h", text: "1")], body: [Self.find])
        let text = try #require(try message.serialize().body.text)
        #expect(try SOAPEnvelope(XMLElement(parsing: text)) == message)
    }

    @Test("The elements of a message keep the namespaces that are declared around them")
    func declarations() throws {
        let soap = SOAPEnvelope.Version.v1_1.namespace
        let text =
            "<soap:Envelope xmlns:soap='\(soap)' xmlns:m='urn:m' xmlns:n='urn:outer'><soap:Body xmlns:n='urn:inner'>"
            + "<m:R xmlns:o='urn:own'><n:a>m:X</n:a></m:R></soap:Body></soap:Envelope>"
        let element = try #require(try SOAPEnvelope(XMLElement(parsing: text)).body.first)
        #expect(
            element.attributes == [.init("xmlns:o", "urn:own"), .init("xmlns:n", "urn:inner"), .init("xmlns:m", "urn:m")])
        let inner =
            "<s:Envelope xmlns:s='\(soap)' xmlns:soap='urn:x'><s:Body xmlns:soap='\(soap)'><soap:Fault/></s:Body></s:Envelope>"
        #expect(try SOAPEnvelope(XMLElement(parsing: inner)).fault?.attributes == [.init("xmlns:s", soap)])
    }

    @Test("Declarations around very many elements are refused")
    func manyDeclarations() throws {
        let declarations = (0..<2_000).map { " xmlns:a\($0)='u'" }.joined()
        let text =
            "<s:Envelope xmlns:s='\(SOAPEnvelope.Version.v1_1.namespace)'\(declarations)><s:Body>"
            + String(repeating: "<a/>", count: 1_000) + "</s:Body></s:Envelope>"
        let document = try XMLElement(parsing: text)
        #expect(code { try SOAPEnvelope(document) } == .tooLarge)
    }

    @Test("A fault is found under any prefix")
    func fault() throws {
        let text =
            "<Envelope xmlns='http://schemas.xmlsoap.org/soap/envelope/'><s:Body xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'>"
            + "<s:Fault><faultcode>s:Client</faultcode><faultstring>no cats</faultstring></s:Fault></s:Body></Envelope>"
        let message = try SOAPEnvelope(XMLElement(parsing: text))
        #expect(message.version == .v1_1 && message.fault?["faultstring"]?.text == "no cats")
    }

    @Test("An element of the application that is named Fault is no fault, and one under the prefix that is written is")
    func namedFault() throws {
        let soap = SOAPEnvelope.Version.v1_2.namespace
        for (element, isFault) in [
            ("<m:Fault xmlns:m='urn:cars'/>", false), ("<Fault/>", false), ("<soap:Fault/>", true), ("<Fault xmlns='\(soap)'/>", true),
        ] {
            let text = "<soap:Envelope xmlns:soap='\(soap)'><soap:Body>\(element)</soap:Body></soap:Envelope>"
            #expect((try SOAPEnvelope(XMLElement(parsing: text)).fault != nil) == isFault, "\(element)")
        }
    }

    @Test(
        "What is not an envelope is refused",
        arguments: [
            "<a/>", "<Envelope/>", "<Envelope xmlns='urn:other'><Body/></Envelope>",
            "<s:Envelope xmlns:s='http://www.w3.org/2003/05/soap-envelope'/>",
            "<s:Envelope xmlns:s='http://www.w3.org/2003/05/soap-envelope'><s:Body/><s:Body/></s:Envelope>",
            "<s:Envelope xmlns:s='http://www.w3.org/2003/05/soap-envelope'><Body/></s:Envelope>",
            "<s:Envelope xmlns:s='http://www.w3.org/2003/05/soap-envelope'><s:Header/><s:Header/><s:Body/></s:Envelope>",
        ])
    func refused(_ text: String) {
        #expect(code { try SOAPEnvelope(XMLElement(parsing: text)) } == .malformedXML)
    }

    @Test("An action cannot add a header or a parameter", arguments: ["a\r\nX: y", "a\"; x=\"", "a b", "é", "\\"])
    func action(_ action: String) {
        for version in SOAPEnvelope.Version.allCases {
            #expect(code { try SOAPEnvelope(version: version, action: action, body: []).serialize() } == .invalidHeader)
        }
    }
}
