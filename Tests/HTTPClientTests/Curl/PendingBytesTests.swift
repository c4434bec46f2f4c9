import Testing

@testable import HTTPClient

@Suite struct PendingBytesTests {
    private func take(_ count: Int, from pending: inout PendingBytes) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = pending.take(into: UnsafeMutableRawBufferPointer(buffer))
        }
    }

    @Test("Bytes are taken in the order in which they were added, as many as fit")
    func order() {
        var pending = PendingBytes()
        #expect(take(3, from: &pending) == [])
        pending.append([1, 2])
        pending.append([3, 4])
        #expect(pending.count == 4)
        #expect(take(3, from: &pending) == [1, 2, 3])
        #expect(pending.count == 1)
        pending.append([5])
        #expect(take(9, from: &pending) == [4, 5])
        #expect(pending.count == 0 && pending.held == 0)
    }

    @Test("The buffer drops bytes that were taken, even if it never becomes empty")
    func bounded() {
        var pending = PendingBytes()
        pending.append([UInt8](repeating: 0, count: 10))
        var next: UInt8 = 1
        var most = 0
        for _ in 0..<1_000 {
            pending.append([UInt8](repeating: next, count: 10))
            #expect(take(10, from: &pending) == [UInt8](repeating: next &- 1, count: 10))
            next &+= 1
            most = max(most, pending.held)
        }
        #expect(pending.count == 10)
        #expect(most <= 20)
    }

    @Test("A read takes bytes of several parts, of any size")
    func severalParts() {
        var pending = PendingBytes()
        let sizes = [1, 0, 20_000, 3, 16_384, 70_000, 2, 2]
        var all: [UInt8] = []
        for (index, size) in sizes.enumerated() {
            let part = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ index) }
            all += part
            pending.append(part)
        }
        #expect(pending.count == all.count)
        var read: [UInt8] = []
        while pending.count > 0 { read += take(30_001, from: &pending) }
        #expect(read == all)
        #expect(pending.held == 0)
    }
}
