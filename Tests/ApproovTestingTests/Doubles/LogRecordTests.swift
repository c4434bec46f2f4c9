import ApproovTesting
import Logging
import Testing

@Suite("The log record", .timeLimit(.minutes(5)))
struct LogRecordTests {
    @Test("The log record keeps level, message and metadata of a line")
    func lines() {
        let record = LogRecord()
        record.logger.trace("a line", metadata: ["key": "value"])
        #expect(record.lines.count == 1)
        #expect(record.lines.first?.hasPrefix("trace a line") == true)
        #expect(record.lines.first?.contains("value") == true)
    }

    @Test("`lines(with:)` waits for a late line, and returns without it after the given time")
    func late() async throws {
        let record = LogRecord()
        async let lines = record.lines(with: "second")
        record.logger.info("first")
        await Task.yield()
        record.logger.info("second")
        #expect(await lines.count == 2)
        #expect(await record.lines(with: "third", within: .milliseconds(20)).count == 2)
    }
}
