import ApproovBase
import ApproovTesting
import Foundation
import OHTTP
import Testing

@testable import ApproovGateway

@Suite struct GatewayKeyFileTests {
    private let directory: TemporaryFolder
    private let clock = ManualClock()
    private let url: URL

    init() throws {
        directory = try TemporaryFolder()
        url = directory.url.appending(path: "gateway.keys")
    }

    private var file: GatewayKeyFile { GatewayKeyFile(url, time: clock) }

    private func mode() throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url.path())[.posixPermissions] as? Int
    }

    private func write(_ text: String, mode: Int = 0o600) throws {
        try Data(text.utf8).write(to: url)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path())
    }

    @Test("A missing key file is created with one X25519 key and mode 0600, and later loads return that key")
    func made() throws {
        let keys = try file.load()
        #expect(keys.entries.count == 1)
        #expect(keys.published.configurations.first?.kem == .x25519)
        #expect(try mode() == 0o600)
        #expect(try file.load().published == keys.published)
        #expect(try file.load(makingKeyFor: .p256).published == keys.published)
    }

    @Test("Loading removes the old copies that a killed process left, and no new ones")
    func killedWriter() throws {
        _ = try file.load()
        for (name, age) in [("old1", 120.0), ("new1", 0)] {
            let copy = directory.url.appending(path: "gateway.keys.\(name).tmp")
            try Data("key".utf8).write(to: copy)
            try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: copy.path())
        }
        _ = try file.load()
        #expect(try directory.names.sorted() == ["gateway.keys", "gateway.keys.new1.tmp"])
    }

    @Test("Rotation without a key file fails with an error that says so, and creates no file")
    func missing() throws {
        let error = #expect(throws: GatewayError(.gatewayKeysUnusable, "")) { _ = try file.rotate(overlap: .seconds(100)) }
        #expect(error?.message.contains("the file does not exist") == true)
        #expect(!FileManager.default.fileExists(atPath: url.path()))
    }

    @Test("A new key replaces published keys of its KEM, which stay accepted for the overlap and then leave the file")
    func rotation() throws {
        let first = try #require(try file.load().published.configurations.first)
        let rotated = try file.rotate(overlap: .seconds(100))
        let second = try #require(rotated.published.configurations.first)
        #expect(rotated.published.configurations == [second])
        #expect(first.id != second.id)
        #expect(try rotated.keyring(at: clock.date).keys.map(\.configuration) == [second, first])
        #expect(try mode() == 0o600)

        let mixed = try file.rotate(kem: .p256, overlap: .seconds(100))
        #expect(mixed.published.configurations.map(\.kem) == [.x25519, .p256])

        clock.advance(by: .seconds(101))
        #expect(try file.load().keyring(at: clock.date).keys.count == 2)
        let size = try Data(contentsOf: url).count
        try file.removeEnded()
        #expect(try Data(contentsOf: url).count < size)
        #expect(try file.load().entries.count == 2)
    }

    @Test("The file publishes X-Wing first, then X25519, then P-256, whichever was rotated last")
    func order() throws {
        _ = try file.load(makingKeyFor: .p256)
        for kem in KeyConfiguration.KEM.allCases + KeyConfiguration.KEM.allCases.reversed() {
            clock.advance(by: .seconds(1))
            let keys = try file.rotate(kem: kem, overlap: .seconds(100))
            #expect(keys.published == (try file.load().published))
            let told = keys.published.configurations.map(\.kem)
            #expect(told == ([.xWing, .x25519, .p256] as [KeyConfiguration.KEM]).filter(told.contains))
        }
        let all = try file.load().published
        #expect(all.configurations.map(\.kem) == [.xWing, .x25519, .p256])
        clock.advance(by: .seconds(1))
        let rotated = try file.rotate(kem: .x25519, overlap: .seconds(100)).published
        #expect(try rotated.preferred() == all.preferred())
        #expect(try rotated.preferred().kem == .xWing)
        #expect(rotated.configurations[1] != all.configurations[1])
    }

    @Test("Keys with the same KEM are published newest first")
    func age() throws {
        let entries = try (1...3).map {
            GatewayKeys.Entry(key: try GatewayKey(id: UInt8($0)), madeAt: clock.date + Double($0 == 2 ? 9 : $0))
        }
        #expect(GatewayKeys(entries: entries).published.configurations.map(\.id) == [2, 3, 1])
    }

    @Test("A rotation that names no KEM replaces the published key of each KEM in use")
    func everyMechanism() throws {
        _ = try file.load()
        let before = try file.rotate(kem: .xWing, overlap: .seconds(100)).published
        clock.advance(by: .seconds(1))
        let keys = try file.rotate(overlap: .seconds(100))
        #expect(keys.published.configurations.map(\.kem) == [.xWing, .x25519])
        #expect(Set(keys.published.configurations).isDisjoint(with: before.configurations))
        #expect(try Set(keys.keyring(at: clock.date).keys.map(\.configuration)).isSuperset(of: before.configurations))
        #expect(keys.entries.count == 4)
    }

    @Test("A rotation that ends the other KEMs publishes only its own, and accepts the others' keys for the overlap")
    func only() throws {
        let first = try #require(try file.load().published.configurations.first)
        _ = try file.rotate(kem: .p256, overlap: .seconds(10))
        let keys = try file.rotate(kem: .xWing, endingOthers: true, overlap: .seconds(100))
        #expect(keys.published.configurations.map(\.kem) == [.xWing])
        #expect(try keys.keyring(at: clock.date).keys.map(\.configuration).contains(first))
        // A KEM that is no longer in use does not come back.
        #expect(try file.rotate(overlap: .seconds(100)).published.configurations.map(\.kem) == [.xWing])
        clock.advance(by: .seconds(101))
        #expect(try file.load().keyring(at: clock.date).keys.map(\.configuration.kem) == [.xWing])
        #expect(try file.rotate(kem: .x25519, endingOthers: true, overlap: .zero).entries.map(\.key.configuration.kem) == [.x25519])
    }

    @Test("A file whose keys have all ended is an error for the gateway, and a rotation repairs it as the error says")
    func allEnded() throws {
        _ = try file.load()
        let keys = try file.rotate(overlap: .seconds(1_000))
        let ended = try #require(keys.entries.first { $0.endsAt != nil })
        for content in [#"{"keys":[]}"#, #"{"keys":[{"key":"\#(Base64.encode(ended.key.serialized()))","madeAt":1,"endsAt":2000000000}]}"#]
        {
            try write(content)
            let error = #expect(throws: GatewayError.self) { _ = try file.load() }
            #expect(error?.message.contains("make a new one: approov gateway --keys FILE --rotate") == true)
            #expect(try file.rotate(overlap: .zero).published.configurations.map(\.kem) == [.x25519])
            #expect(try file.load().published.configurations.count == 1)
        }
    }

    @Test("A key that is ended twice ends at the earlier time, and without an overlap it ends at once")
    func earlierEnd() throws {
        _ = try file.load()
        _ = try file.rotate(overlap: .seconds(10))
        let keys = try file.rotate(overlap: .seconds(1_000))
        clock.advance(by: .seconds(11))
        #expect(try keys.keyring(at: clock.date).keys.count == 2)
        #expect(try file.rotate(overlap: .zero).entries.count == 1)
    }

    @Test("Repeated rotations give each key an unused identifier, and rotation fails when all 256 are in use")
    func identifiers() throws {
        _ = try file.load()
        for count in 2...20 {
            let keys = try file.rotate(overlap: .seconds(1_000))
            #expect(Set(keys.entries.map(\.key.configuration.id)).count == count)
        }
        let entries = try (0...255).map { GatewayKeys.Entry(key: try GatewayKey(id: UInt8($0)), madeAt: clock.date) }
        var full = GatewayKeys(entries: entries)
        #expect(throws: GatewayError.self) { try full.rotate(kem: .x25519, overlap: .seconds(10), now: clock.date) }
    }

    @Test("An overlap that is negative or longer than ten years is refused, and leaves the file as it is")
    func overlapRange() throws {
        _ = try file.load()
        let before = try Data(contentsOf: url)
        let longest: Duration = .seconds(3_650 * 86_400)
        for overlap in [.seconds(-1), .nanoseconds(-1), longest + .nanoseconds(1), .seconds(Int64.max)] as [Duration] {
            let error = try #require(throws: GatewayError.self) { _ = try file.rotate(overlap: overlap) }
            #expect(error.code == .gatewayKeysUnusable && error.message.contains("0 to 3650 days"), "\(error)")
            #expect(try Data(contentsOf: url) == before)
        }
        _ = try file.rotate(overlap: longest)
        #expect(try file.load().entries.count == 2)
    }

    @Test("Concurrent rotations lose no key")
    func concurrent() async throws {
        _ = try file.load()
        let file = file
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { _ = try file.rotate(overlap: .seconds(1_000)) } }
            try await group.waitForAll()
        }
        #expect(try file.load().entries.count == 9)
    }

    @Test("Rotation and removal time out while the lock is held, changing nothing; rotation succeeds once it is free")
    func held() throws {
        let before = try file.load().published
        var file = file
        file.lockTimeout = .milliseconds(20)
        try FileLock(path: url.path() + ".lock").withLock {
            #expect(code(as: GatewayError.self) { _ = try file.rotate(overlap: .zero) } == .gatewayKeysUnusable)
            #expect(code(as: GatewayError.self) { try file.removeEnded() } == .gatewayKeysUnusable)
        }
        #expect(try file.load().published == before)
        #expect(try file.rotate(overlap: .zero).published != before)
    }

    @Test("A key file that others can read, a symbolic link and a folder are rejected")
    func unsafe() async throws {
        _ = try file.load()
        for mode in [0o644, 0o640, 0o604, 0o660] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path())
            await refuses(.gatewayKeysUnusable) { _ = try file.load() }
        }
        try FileManager.default.removeItem(at: url)
        try FileManager.default.createSymbolicLink(at: url, withDestinationURL: directory.url.appending(path: "elsewhere"))
        await refuses(.gatewayKeysUnusable) { _ = try file.load() }
        try FileManager.default.removeItem(at: url)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        await refuses(.gatewayKeysUnusable) { _ = try file.load() }
    }

    @Test(
        "A folder or a file of another kind is named and not taken for a key file, no error advises to remove it, and no lock is made there",
        arguments: ["folder", "link", "store", "other mode", "large", "object"])
    func foreign(kind: String) throws {
        switch kind {
        case "folder": try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        case "link": try FileManager.default.createSymbolicLink(atPath: url.path(), withDestinationPath: "/dev/null")
        case "store": try write("SQLite format 3\u{0}")
        case "other mode": try write("notes", mode: 0o644)
        case "large": try write(String(repeating: " ", count: 300_000))
        default: try write(#"{"other":"program"}"#)
        }
        let uses: [(GatewayKeyFile) throws -> Void] = [{ _ = try $0.load() }, { _ = try $0.rotate(overlap: .zero) }]
        for use in uses {
            let error = try #require(throws: GatewayError.self) { try use(file) }
            #expect(error.code == .gatewayKeysUnusable && error.message.contains(url.path()), "\(error)")
            #expect(error.message.contains(kind == "other mode" ? "if it is the gateway's key file" : "is not a gateway's key file"))
            #expect(!error.description.contains("remove") && !error.description.contains("delete"), "\(error)")
        }
        #expect(try directory.names == ["gateway.keys"])
    }

    @Test("A file that does not contain valid keys is rejected and left unchanged, and no error shows its content")
    func malformed() async throws {
        _ = try file.load()
        let good = try String(contentsOf: url, encoding: .utf8)
        let texts = [
            "", "{}", "[]", #"{"keys":[]}"#, #"{"keys":[{}]}"#, #"{"keys":[{"key":"AAAA","madeAt":1}]}"#,
            good.replacingOccurrences(of: "\"key\":\"", with: "\"key\":\"A"), String(good.dropLast()), good + good,
            good.replacingOccurrences(of: "\"madeAt\":", with: "\"madeAt\":-"), String(repeating: " ", count: 300_000),
            "SQLite format 3\u{0}",
        ]
        for text in texts {
            try write(text)
            do {
                _ = try file.load()
                Issue.record("accepted: \(text.prefix(100))")
            } catch let error as GatewayError {
                #expect(error.code == .gatewayKeysUnusable)
                #expect(!error.description.contains(text.dropFirst(20).prefix(20)) || text.count < 40)
                #expect(error.message.contains(url.path()) && !error.description.contains("DecodingError"))
            }
            #expect(try String(contentsOf: url, encoding: .utf8) == text)
        }
    }
}
