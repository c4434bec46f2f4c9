import Crypto
import Foundation
import Testing

@testable import ApproovAuthority

@Suite struct ARCTests {
    private let key = SymmetricKey(data: [UInt8](repeating: 3, count: 16))
    private let device = [UInt8](1...16)

    @Test("An ARC has 26 characters and reads back with its reasons, device and second")
    func roundTrip() throws {
        for reasons in [[], [.appNotRegistered], [.debugger, .preload], Set(RejectionReason.allCases)] as [Set<RejectionReason>] {
            let arc = ARC(reasons: reasons, deviceID: device, issuedAt: Date(timeIntervalSince1970: 1_750_000_000))
            let text = try arc.encoded(key: key)
            #expect(text.count == 26)
            let read = try ARC.decode(text, key: key)
            #expect(read == arc)
            #expect(read.deviceHint == [1, 2, 3, 4])
        }
    }

    @Test("An ARC is one AES-128 block, and those of earlier releases can still be read")
    func format() throws {
        // By `openssl enc -aes-128-ecb -nopad`.
        let read = try ARC.decode("HNFAOWTIIZ6GXKM6EEQO7YRIB4", key: key)
        #expect(read == ARC(reasons: [.root], deviceID: device, issuedAt: Date(timeIntervalSince1970: 1_750_000_000)))
    }

    @Test("Without the key, a passed and a failed ARC look unrelated and do not contain the device ID")
    func opaque() throws {
        let date = Date(timeIntervalSince1970: 1_750_000_000)
        let passed = try #require(Base32.decode(ARC(reasons: [], deviceID: device, issuedAt: date).encoded(key: key)))
        let failed = try #require(Base32.decode(ARC(reasons: [.root], deviceID: device, issuedAt: date).encoded(key: key)))
        #expect(zip(passed, failed).filter { $0 == $1 }.count < 8)
        #expect(!passed.contains(subsequence: device.prefix(4)))
    }

    @Test("ARCs for the same device, second and verdict all differ, so that no app can compare verdicts")
    func neverEqual() throws {
        let arc = ARC(reasons: [.appNotRegistered], deviceID: device, issuedAt: Date(timeIntervalSince1970: 1_750_000_000))
        #expect(try Set((0..<100).map { _ in try arc.encoded(key: key) }).count == 100)
    }

    @Test("An ARC of another account, an ARC with a changed character, and other texts are rejected")
    func refused() async throws {
        let text = try ARC(reasons: [], deviceID: device, issuedAt: Date()).encoded(key: key)
        let other = SymmetricKey(data: [UInt8](repeating: 4, count: 16))
        await refuses(.malformedARC) { _ = try ARC.decode(text, key: other) }
        var changed = Array(text)
        changed[4] = changed[4] == "A" ? "B" : "A"
        for text in [String(changed), "", String(text.dropLast()), text + "A", text.lowercased(), String(repeating: "=", count: 26)] {
            await refuses(.malformedARC) { _ = try ARC.decode(text, key: key) }
        }
    }
}

extension Array where Element == UInt8 {
    fileprivate func contains(subsequence: ArraySlice<UInt8>) -> Bool {
        indices.contains { self[$0...].starts(with: subsequence) }
    }
}
