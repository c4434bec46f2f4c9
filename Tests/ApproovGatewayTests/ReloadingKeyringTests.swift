import ApproovBase
import ApproovTesting
import Foundation
import OHTTP
import Synchronization
import Testing

@testable import ApproovGateway

@Suite(.timeLimit(.minutes(1))) struct ReloadingKeyringTests {
    @Test("a key whose time is over is removed from its file once that can be written, and is not accepted meanwhile")
    func removal() async throws {
        let directory = try TemporaryFolder()
        let url = directory.url.appending(path: "gateway.keys")
        let clock = ManualClock()
        let logs = LogRecord()
        var file = GatewayKeyFile(url, time: clock)
        file.lockTimeout = .milliseconds(20)
        _ = try file.load()
        let new = try #require(try file.rotate(overlap: .seconds(10)).published.configurations.first)
        let watch = try ReloadingKeyring(file: file, time: clock, logger: logs.logger)
        let told = Mutex<[Set<UInt8>]>([])
        let size = try Data(contentsOf: url).count
        clock.advance(by: .seconds(11))
        let lock = try await HeldLock(url.path() + ".lock")
        let watching = Task { await watch.run { ids in told.withLock { $0.append(ids) } } }
        while watch.current.keyring.keys.count > 1 || told.withLock({ $0.last != [new.id] }) {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(told.withLock { $0.last } == [new.id])
        #expect(try Data(contentsOf: url).count == size)
        lock.release()
        while try Data(contentsOf: url).count == size { try await Task.sleep(for: .milliseconds(10)) }
        #expect(try Data(contentsOf: url).count < size)
        #expect(logs.lines.filter { $0.hasPrefix("error") }.count == 1)
        watching.cancel()
        await watching.value
    }
}

/// A lock that is held until it is released.
private final class HeldLock: Sendable {
    private let end = DispatchSemaphore(value: 0)

    /// Returns once the lock is held.
    init(_ path: String) async throws {
        let (held, isHeld) = AsyncThrowingStream.makeStream(of: Void.self)
        // It blocks, so it must not have one of the few threads that tasks share.
        DispatchQueue.global().async { [end] in
            do {
                try FileLock(path: path).withLock {
                    isHeld.yield()
                    end.wait()
                }
                isHeld.finish()
            } catch {
                isHeld.finish(throwing: error)
            }
        }
        for try await _ in held { break }
    }

    func release() { end.signal() }
}
