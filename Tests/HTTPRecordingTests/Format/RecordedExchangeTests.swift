import HTTPTypes
import Testing

@testable import HTTPRecording

@Suite struct RecordedExchangeTests {
    @Test("An exchange reads what it wrote, and repeated fields stay separate and in order")
    func roundTrip() throws {
        let exchange = RecordedExchange(
            method: .put, url: "https://api.test/a?b=c", requestLines: ["Accept: */*"], bodyDigest: "00", status: 207, version: "HTTP/2",
            responseLines: ["Set-Cookie: a", "X: ", "set-cookie: b"], bodyName: "x.body")
        let read = try RecordedExchange(parsing: exchange.serialized())
        #expect(read.method == .put && read.url == exchange.url && read.bodyDigest == "00" && read.status == 207)
        #expect(read.version == "HTTP/2" && read.responseLines == exchange.responseLines && read.bodyName == "x.body")
        #expect(try read.responseFields[values: .setCookie] == ["a", "b"])
    }

    @Test("A response with more than 10,000 fields is damaged: `HTTPFields` would end the process with 65,535")
    func manyFields() throws {
        var exchange = RecordedExchange(
            method: .get, url: "https://api.test/", status: 200, version: "HTTP/1.1", responseLines: Array(repeating: "a:", count: 10_000))
        #expect(try RecordedExchange(parsing: exchange.serialized()).responseFields.count == 10_000)
        for count in [10_001, 65_535] {
            exchange.responseLines = Array(repeating: "a:", count: count)
            let error = try #require(throws: RecordedExchange.Damage.self) { try RecordedExchange(parsing: exchange.serialized()) }
            #expect(error.reason.contains("at most 10000 lines"))
        }
    }

    @Test("A body's name has no control characters", arguments: ["a\nb", "a\u{1B}[0m", "a\u{7F}", "\u{0}"])
    func bodyName(name: String) throws {
        let exchange = RecordedExchange(
            method: .get, url: "https://api.test/", status: 200, version: "HTTP/1.1", responseLines: [], bodyName: name)
        #expect(throws: RecordedExchange.Damage.self) { try RecordedExchange(parsing: exchange.serialized()) }
    }

    @Test("A file that was written by hand needs only method, URL and status")
    func short() throws {
        let text = #"{"request":{"method":"GET","url":"HTTPS://API.test"},"response":{"status":200},"note":"by hand"}"#
        let read = try RecordedExchange(parsing: Array(text.utf8))
        #expect(read.url == "https://api.test/" && read.version == "HTTP/1.1" && read.bodyName == nil && read.bodyDigest == nil)
    }
}
