import ApproovBase
import ApproovTesting
import Foundation
import OHTTP
import Synchronization
import Testing

@testable import ApproovGateway

@Suite(.timeLimit(.minutes(5))) struct ReloadingKeyringTests {
    @Test("An ended key is no longer accepted, and leaves the key file as soon as the file's lock is free")
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
        let told = Mutex<[Set<ReplayWindow.Key>]>([])
        let size = try Data(contentsOf: url).count
        clock.advance(by: .seconds(11))
        let lock = try HeldLock(url.path() + ".lock")
        let watching = Task { await watch.run { keys in told.withLock { $0.append(keys) } } }
        await clock.sleepers(atLeast: 1)
        #expect(watch.current.keyring.keys.count == 1)
        #expect(told.withLock { $0.last } == [ReplayWindow.Key(new)])
        #expect(try Data(contentsOf: url).count == size)
        lock.release()
        clock.advance(by: ReloadingKeyring.interval)
        await clock.sleepers(atLeast: 1)
        #expect(try Data(contentsOf: url).count < size)
        #expect(logs.lines.filter { $0.hasPrefix("error") }.count == 1)
        watching.cancel()
        await watching.value
    }
}
