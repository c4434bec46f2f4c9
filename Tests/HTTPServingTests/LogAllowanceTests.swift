import ApproovTesting
import Logging
import Testing

import HTTPServing

@Suite struct LogAllowanceTests {
    @Test("a minute has so many lines, the next one begins with how many were left out, and debug shows them all")
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

    @Test("a logger that shows no notices costs nothing")
    func silent() {
        let record = LogRecord()
        var logger = record.logger
        logger.logLevel = .warning
        func metadata() -> Logger.Metadata {
            Issue.record("made for no line")
            return [:]
        }
        LogAllowance().notice("refused", to: logger, at: .zero, metadata: metadata())
        #expect(record.lines.isEmpty)
    }
}
