import APIClient
import Testing

// Acceptance list: S2.12, S2.61
@Suite struct XMLResponseTests {
    @Test(
        "A document is read under any media type of XML",
        arguments: [
            "text/xml; charset=utf-8", "text/xml;charset=\"UTF-8\"", "text/xml; a=b; Charset=us-ascii", "text/xml; charset=utf8",
            "application/xml",
            "application/soap+xml",
        ])
    func read(type: String) throws {
        #expect(try XMLResponse().value(of: APIResponse("<a><b>1</b></a>", type: type))["b"]?.text == "1")
    }

    @Test("Another media type, another status and a malformed document are refused with the response")
    func refused() async throws {
        for (response, code) in [
            (try APIResponse("<a/>"), APIError.Code.unexpectedMediaType),
            (try APIResponse("<a/>", type: "text/xml", status: 500), .unexpectedStatus),
            (try APIResponse("<a>", type: "text/xml"), .malformedXML),
            (try APIResponse("<!DOCTYPE a><a/>", type: "text/xml"), .malformedXML),
            (try APIResponse("<a>é</a>", type: "text/xml; charset=ISO-8859-1"), .malformedXML),
        ] {
            let error = await failure { try XMLResponse().value(of: response) }
            #expect(error?.code == code && error?.response != nil)
        }
    }
}
