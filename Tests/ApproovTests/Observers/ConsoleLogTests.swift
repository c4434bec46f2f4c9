import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

// Acceptance list: S2.69, S2.121, S3.5
@Suite struct ConsoleLogTests {
    private func log(_ level: ConsoleLog.Level, showing: Set<String> = [], _ url: String) async throws -> [String] {
        let world = try World()
        world.api.value = { request in
            guard request.url.target != "/lost" else { throw TransportError(.connectionLost, "gone") }
            return TransportResponse(
                status: 200, headerFields: [.contentType: "text/plain", .setCookie: "a=secret"], url: request.url,
                body: ResponseBody(bytes: [1, 2]))
        }
        let record = LogRecord()
        let observer = RecordingObserver()
        let session = try world.configured {
            $0.observers = [ConsoleLog(level: level, logger: record.logger, showing: showing), observer]
        }
        let headers = ["Authorization": "Bearer secret", "X-Forged": "a b"]
        _ = try? await session.data(for: URLRequest(url, headers))
        #expect(await observer.calls(1))
        guard level != .off else { return record.lines }
        return await record.lines(with: url.hasSuffix("lost") ? "failed" : "finished")
    }

    @Test("At info, a call is one line with method, host, path, status and size")
    func info() async throws {
        let lines = try await log(.info, "https://api.test/items?q=secret")
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(line.hasPrefix("info finished"))
        for part in ["GET", "api.test", "/items", "200", "attested", "true"] { #expect(line.contains(part)) }
        #expect(!line.contains("secret"))
    }

    @Test("At debug, request, response and end are lines with the names of fields, and with the values of the fields that are shown")
    func debug() async throws {
        let lines = try await log(
            .debug, showing: ["Content-Type", "Authorization", "Set-Cookie", "X-Forged"], "https://api.test/items?q=secret&secret")
        #expect(lines.map { $0.prefix { $0 != "[" } } == ["debug request ", "debug response ", "info finished "])
        #expect(lines[0].contains("authorization") && lines[0].contains("\"q\"") && lines[0].contains("a b"))
        #expect(lines[1].contains("text/plain") && lines[1].contains("set-cookie"))
        #expect(lines.allSatisfy { !$0.contains("secret") })
    }

    @Test("Only the log at debug asks for timings, and shows them", arguments: [ConsoleLog.Level.off, .info, .debug])
    func timings(level: ConsoleLog.Level) async throws {
        let world = try World()
        world.api.value = { request in
            request.options.onTimings?(TransferTimings(firstByte: .milliseconds(5), total: .milliseconds(6)))
            return TransportResponse(status: 200, url: request.url)
        }
        let record = LogRecord()
        let session = try world.configured { $0.observers = [ConsoleLog(level: level, logger: record.logger)] }
        _ = try await session.data(for: URLRequest("https://api.test/"))
        #expect((world.apiRequests.last?.options.onTimings != nil) == (level == .debug))
        guard level != .off else { return }
        let lines = await record.lines(with: "finished")
        #expect(lines.contains { $0.contains("first-byte") } == (level == .debug))
    }

    @Test("A failure is a warning with its code, and the log at off has no lines")
    func failure() async throws {
        let lines = try await log(.info, "https://api.test/lost")
        #expect(lines.count == 1 && lines[0].hasPrefix("warning failed") && lines[0].contains("networkingError"))
        #expect(try await log(.off, "https://api.test/lost").isEmpty)
    }

    @Test("Each line tells the target of the request that it is about, whatever the line before it told")
    func ownRequest() async throws {
        let world = try World()
        let record = LogRecord()
        let session = try world.configured { $0.observers = [ConsoleLog(logger: record.logger)] }
        let headers = ["Authorization": "Bearer secret"]
        let paths = ["/a", "/a", "/b", "/a"]
        for path in paths { _ = try await session.data(for: URLRequest("https://api.test\(path)", headers)) }
        var lines = record.lines
        while lines.count < paths.count {
            try await Task.sleep(for: .milliseconds(5))
            lines = record.lines
        }
        for (number, path) in paths.enumerated() {
            #expect(lines[number].contains(path) && lines[number].contains("api.test"), "\(lines[number])")
            #expect(lines[number].contains("call") && lines[number].contains("\(number + 1)"), "\(lines[number])")
            #expect(["/a", "/b"].filter { lines[number].contains($0) } == [path], "\(lines[number])")
        }
    }

    @Test("The log says how many events it lost")
    func dropped() {
        let record = LogRecord()
        ConsoleLog(logger: record.logger).didDrop(7)
        #expect(record.lines.count == 1 && record.lines[0].contains("7"))
    }
}
