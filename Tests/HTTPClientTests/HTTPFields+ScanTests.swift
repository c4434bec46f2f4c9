import HTTPClient
import HTTPTypes
import Testing

@Suite("Searching the fields of a message")
struct ScanTests {
    @Test("A field is found whatever the letter case of its name, and its value is returned only if it is the only one")
    func value() throws {
        let fields = HTTPFields([
            HTTPField(name: .contentLength, value: "5"), HTTPField(name: .date, value: "a"), HTTPField(name: .date, value: "b"),
        ])
        let name = try #require(HTTPField.Name("CONTENT-length"))
        #expect(fields.scan(for: name) && fields.scan(for: .date) && !fields.scan(for: .server))
        #expect(fields.scanValue(of: name) == "5")
        #expect(fields.scanValue(of: .date) == nil && fields.scanValue(of: .server) == nil)
    }

    @Test("A joined value has the values of all lines in their order, and is nil without a line")
    func joinedValue() throws {
        let other = try #require(HTTPField.Name("DATE"))
        let fields = HTTPFields([
            HTTPField(name: .contentLength, value: "5"), HTTPField(name: .date, value: "a"), HTTPField(name: other, value: "b"),
        ])
        #expect(fields.scanJoinedValue(of: .contentLength) == "5")
        #expect(fields.scanJoinedValue(of: .date) == "a, b")
        #expect(fields.scanJoinedValue(of: .server) == nil)
    }
}
