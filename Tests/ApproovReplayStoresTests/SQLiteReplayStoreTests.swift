import ApproovBase
import ApproovTesting
import ApproovTokenCheck
import Foundation
import GRDB
import Testing

@testable import ApproovReplayStores

@Suite struct SQLiteReplayStoreTests {
    private let clock = ManualClock()
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.path("replay.sqlite") }
    private var now: Int64 { Int64(clock.date.timeIntervalSince1970) }

    /// A store that does not wait for other processes.
    private func open(maximumBytes: Int = 1 << 20) throws -> SQLiteReplayStore {
        try SQLiteReplayStore(path: path, maximumBytes: maximumBytes, busyTimeout: 0, time: clock)
    }

    /// The code of the error that `body` throws; its message must not name the token.
    private func code(_ body: () async throws -> Void) async -> ReplayStoreError.Code? {
        let error = await #expect(throws: ReplayStoreError.self) { try await body() }
        #expect(error?.description.contains("canary") != true, "\(String(describing: error))")
        return error?.code
    }

    /// Works on the file as another process would.
    private func withDatabase<Value>(_ body: (Database) throws -> Value) throws -> Value {
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction(body)
    }

    @Test("A token passes once, also after a restart, and in another process that shares the file")
    func restart() async throws {
        let first = try open()
        #expect(try await first.consume("a", of: "x", until: now + 90))
        #expect(try await !first.consume("a", of: "x", until: now + 90))
        let second = try open()
        #expect(try await !second.consume("a", of: "x", until: now + 90))
        #expect(try await second.consume("b", of: "x", until: now + 90))
        #expect(try await !first.consume("b", of: "x", until: now + 90))
        for _ in 0..<3 {
            let third = try open()
            #expect(try await !third.consume("a", of: "x", until: now + 90))
        }
    }

    @Test("Issuer and identifier together name a token, and its end does not")
    func key() async throws {
        let store = try open()
        for (jti, issuer) in [("a", "x"), ("a", "y"), ("a", nil), ("b", "x"), ("xa", "")] as [(String, String?)] {
            #expect(try await store.consume(jti, of: issuer, until: now + 90))
        }
        for end in [now + 60, now + 90, now + 120] { #expect(try await !store.consume("a", of: "x", until: end)) }
    }

    @Test("Of two thousand concurrent uses of one token, through two stores that share the file, exactly one is the first")
    func concurrent() async throws {
        let stores = try [
            SQLiteReplayStore(path: path, maximumBytes: 1 << 20, busyTimeout: 60, time: clock),
            SQLiteReplayStore(path: path, maximumBytes: 1 << 20, busyTimeout: 60, time: clock),
        ]
        let end = now + 90
        let firsts = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<2_000 { group.addTask { try await stores[number % 2].consume("jti", of: nil, until: end) } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(firsts == 1)
    }

    @Test("The file and SQLite's files beside it have mode 0600, and the folder 0700")
    func modes() async throws {
        // In a separate process, because other tests must not get this mask.
        await #expect(processExitsWith: .success) {
            umask(0)
            let folder = try TemporaryFolder()
            let path = folder.path("deep/er/replay.sqlite")
            let clock = ManualClock()
            let store = try SQLiteReplayStore(path: path, time: clock)
            #expect(try await store.consume("a", of: nil, until: Int64(clock.date.timeIntervalSince1970) + 90))
            for name in [path, path + "-wal", path + "-shm", path + ".lock"] { #expect(FileStatus(name)?.permissions == 0o600, "\(name)") }
            #expect(FileStatus(folder.path("deep/er"))?.permissions == 0o700)
        }
    }

    @Test("Many first starts at once make one store")
    func firstStarts() async throws {
        let end = now + 90
        let firsts = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    let store = try SQLiteReplayStore(path: path, maximumBytes: 1 << 20, busyTimeout: 60, time: clock)
                    return try await store.consume("a", of: nil, until: end)
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(firsts == 1)
        #expect(try folder.names.filter { $0.contains(".new") }.isEmpty)
    }

    @Test("Records are removed after their end and no earlier, a bounded number with each write")
    func removal() async throws {
        let store = try open()
        let end = now + 90
        for number in 0..<300 { #expect(try await store.consume("\(number)", of: nil, until: end)) }
        func count() throws -> Int { try withDatabase { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM used") ?? 0 } }
        clock.advance(by: .seconds(89))
        #expect(try await !store.consume("0", of: nil, until: end))
        #expect(try count() == 300)
        clock.advance(by: .seconds(1))
        #expect(try await store.consume("new", of: nil, until: now + 90))
        #expect(try count() == 300 - 102 + 1)
        for _ in 0..<2 { #expect(try await !store.consume("new", of: nil, until: now + 90)) }
        #expect(try count() == 1)
    }

    @Test("After the clock was ahead and is set back, tokens whose records were removed stay refused, also after a restart")
    func setBack() async throws {
        let (date, end) = (clock.date, now + 90)
        #expect(try await open().consume("a", of: nil, until: end))
        clock.advance(by: .seconds(3_600))
        #expect(try await open().consume("b", of: nil, until: now + 90))
        clock.setDate(date)
        #expect(try await !open().consume("a", of: nil, until: end))
        #expect(try await !open().consume("c", of: nil, until: end))
        #expect(try await open().consume("c", of: nil, until: end + 1))
    }

    @Test("A full store refuses new tokens, still knows the old ones, and has room after their end")
    func full() async throws {
        let store = try open(maximumBytes: 0)
        var used: [String] = []
        let error = await #expect(throws: ReplayStoreError.self) {
            for number in 0..<10_000 {
                let jti = "canary-\(number)"
                if try await store.consume(jti, of: nil, until: now + 90) { used.append(jti) }
            }
        }
        #expect(error?.code == .storeFull && error?.message.contains("65536 bytes") == true)
        #expect(error?.description.contains("canary") == false)
        #expect(used.count > 100)
        #expect(try await !store.consume(used[0], of: nil, until: now + 90))
        clock.advance(by: .seconds(90))
        for number in 0..<used.count { #expect(try await store.consume("next-\(number)", of: nil, until: now + 90)) }
    }

    @Test("While another process holds the file every use fails, and afterwards uses work again")
    func busy() async throws {
        let store = try open()
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        #expect(await code { _ = try await store.consume("canary", of: nil, until: now + 90) } == .storeSlow)
        try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        #expect(try await store.consume("canary", of: nil, until: now + 90))
    }

    @Test("A file that is removed or replaced while the store is open makes every use fail", arguments: [false, true])
    func gone(isReplaced: Bool) async throws {
        let store = try open()
        #expect(try await store.consume("canary", of: nil, until: now + 90))
        for suffix in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: path + suffix) }
        if isReplaced { #expect(try await open().consume("other", of: nil, until: now + 90)) }
        for jti in ["canary", "canary-2"] {
            #expect(await code { _ = try await store.consume(jti, of: nil, until: now + 90) } == .storeUnusable)
        }
    }

    @Test("A store of a newer release is refused, when it is opened and while it is used, and stays as it is")
    func newer() async throws {
        let store = try open()
        #expect(try await store.consume("a", of: nil, until: now + 90))
        try withDatabase { try $0.execute(sql: "PRAGMA user_version = 2") }
        #expect(await code { _ = try await store.consume("canary", of: nil, until: now + 90) } == .storeNewer)
        let error = #expect(throws: ReplayStoreError.self) { try open() }
        #expect(error?.code == .storeNewer && error?.message.contains("version 2") == true)
        #expect(try withDatabase { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM used") } == 1)
    }

    @Test("A file that is not a replay store is refused, and stays as it is")
    func foreign() async throws {
        try withDatabase { try $0.execute(sql: "CREATE TABLE other (x)") }
        chmod(path, 0o600)
        #expect(await code { _ = try open() } == .storeDamaged)
        #expect(try withDatabase { try $0.tableExists("other") })
        let text = String(repeating: "no database ", count: 1_000)
        chmod(try folder.write(text, to: "replay.sqlite"), 0o600)
        let error = #expect(throws: ReplayStoreError.self) { try open() }
        #expect(error?.code == .storeDamaged && error?.message.contains("stop all processes") == true)
        #expect(try folder.text("replay.sqlite") == text)
    }

    @Test("A damaged store is refused with the remedy", arguments: 1..<4)
    func damaged(page: Int) async throws {
        let store = try open()
        for number in 0..<100 { #expect(try await store.consume("\(number)", of: nil, until: now + 90)) }
        try withDatabase { _ = try $0.checkpoint(.truncate) }
        let handle = try FileHandle(forUpdating: folder.file("replay.sqlite"))
        let pages = try handle.seekToEnd() / 4_096
        try #require(pages > page)
        try handle.seek(toOffset: UInt64(page) * 4_096)
        try handle.write(contentsOf: Data((0..<4_096).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }))
        try handle.close()
        let error = #expect(throws: ReplayStoreError.self) { try open() }
        #expect(error?.code == .storeDamaged && error?.message.contains("stop all processes") == true)
    }

    @Test(
        "A value of another type makes the store damaged, and does not end the process",
        arguments: ["state SET removedThrough = 'abc'", "used SET until = -1e300", "used SET until = 1, issuer = x'FF'"])
    func wrongType(change: String) async throws {
        let store = try open()
        #expect(try await store.consume("1", of: nil, until: now + 90))
        try withDatabase { try $0.execute(sql: "UPDATE " + change) }
        #expect(await code { _ = try await store.consume("2", of: nil, until: now + 90) } == .storeDamaged)
    }

    @Test("A truncated store is refused")
    func truncated() async throws {
        let store = try open()
        for number in 0..<100 { #expect(try await store.consume("\(number)", of: nil, until: now + 90)) }
        try withDatabase { _ = try $0.checkpoint(.truncate) }
        for pages in [3, 1] as [UInt64] {
            let handle = try FileHandle(forUpdating: folder.file("replay.sqlite"))
            try handle.truncate(atOffset: pages * 4_096)
            try handle.close()
            #expect(await code { _ = try open() } == .storeDamaged)
        }
    }
}
