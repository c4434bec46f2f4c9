import ApproovBase
import Testing

@Suite struct ProblemDetailsTests {
    private func text(_ details: ProblemDetails) -> String { String(decoding: details.serialized(), as: UTF8.self) }

    @Test("Only members that have a value are written")
    func members() {
        #expect(text(ProblemDetails(status: 404, title: "Not Found")) == #"{"status":404,"title":"Not Found"}"#)
        let all = ProblemDetails(type: "urn:x:y", status: 400, title: "t", detail: "d")
        #expect(text(all) == #"{"type":"urn:x:y","status":400,"title":"t","detail":"d"}"#)
    }

    @Test("Characters that JSON must escape are escaped")
    func escaped() throws {
        let details = ProblemDetails(status: 400, title: "a\"b\\c\u{1}", detail: "x\ny")
        let json = try JSONValue(parsing: details.serialized(), limit: 1_000)
        #expect(json == .object(["status": .integer(400), "title": .string("a\"b\\c\u{1}"), "detail": .string("x\ny")]))
    }
}
