import ApproovTesting
import HTTPServing
import Logging
import Testing

@Suite struct LogAllowanceTests {
    @Test("Lines above the limit per minute go to debug, and the next minute's first line counts them")
    func allowance() {
        let record = LogRecord()
        let allowance = LogAllowance(linesPerMinute: 2)
        for second in [0, 1, 2, 59, 60, 61, 62] {
            allowance.notice("refused", to: record.logger, at: .seconds(second), metadata: ["second": "\(second)"])
        }
        let levels = record.lines.map { $0.prefix { $0 != " " } }
        #expect(levels == ["notice", "notice", "debug", "debug", "notice", "notice", "debug"])
        #expect(record.lines.map { $0.contains(#""leftOut": 2"#) } == [false, false, false, false, true, false, false])
    }

    @Test("A logger without notices makes no metadata")
    func silent() {
        let record = LogRecord()
        var logger = record.logger
        logger.logLevel = .warning
        func metadata() -> Logger.Metadata {
            Issue.record("metadata was made although nothing is logged")
            return [:]
        }
        LogAllowance().notice("refused", to: logger, at: .zero, metadata: metadata())
        #expect(record.lines.isEmpty)
    }
}
