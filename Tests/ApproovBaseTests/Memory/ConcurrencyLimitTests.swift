import ApproovBase
import Testing

@Suite struct ConcurrencyLimitTests {
    /// Whether the limit grants no permit now; a permit that it grants is released immediately.
    private func isFull(_ limit: ConcurrencyLimit) -> Bool { limit.permit() == nil }

    /// Calls `body` while it holds a permit.
    private func holding(_ limit: ConcurrencyLimit, _ body: () -> Void) {
        let permit = limit.permit()
        let isHeld = permit != nil
        #expect(isHeld)
        body()
        _ = consume permit
    }

    @Test("The limit grants no more permits than allowed, and each permit is released when its use ends")
    func limit() {
        let limit = ConcurrencyLimit(2)
        holding(limit) {
            holding(limit) {
                #expect(isFull(limit))
                #expect(limit.count == 2)
            }
            #expect(limit.count == 1 && !isFull(limit))
        }
        #expect(limit.count == 0)
    }

    @Test("A permit that is released before the end of its scope is released exactly once")
    func early() {
        let limit = ConcurrencyLimit(1)
        for _ in 0..<3 {
            if let permit = limit.permit() { _ = consume permit }
            #expect(limit.count == 0)
        }
        var kept = limit.permit()
        #expect(limit.count == 1)
        kept = nil
        let isReleased = kept == nil
        #expect(isReleased && limit.count == 0)
    }

    @Test("A shared permit is released with its last reference")
    func shared() {
        let limit = ConcurrencyLimit(1)
        var owners: [ConcurrencyLimit.SharedPermit] = []
        if let permit = limit.permit() { owners = Array(repeating: ConcurrencyLimit.SharedPermit(permit), count: 2) }
        #expect(isFull(limit))
        owners.removeLast()
        #expect(limit.count == 1)
        owners.removeAll()
        #expect(limit.count == 0)
    }

    @Test("An owner may release a shared permit before the last reference is gone, once")
    func release() {
        let limit = ConcurrencyLimit(2)
        var owners: [ConcurrencyLimit.SharedPermit] = []
        for _ in 0..<2 { if let permit = limit.permit() { owners.append(ConcurrencyLimit.SharedPermit(permit)) } }
        owners[0].release()
        owners[0].release()
        #expect(limit.count == 1)
        owners.removeFirst()
        #expect(limit.count == 1)
        owners.removeAll()
        #expect(limit.count == 0)
    }

    @Test("Concurrent callers never exceed the limit, and all permits are free at the end")
    func concurrent() async {
        let limit = ConcurrencyLimit(3)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var isKept = true
                    for _ in 0..<2_000 {
                        let permit = limit.permit()
                        isKept = isKept && limit.count <= 3
                        if let permit { _ = consume permit }
                    }
                    return isKept
                }
            }
            for await isKept in group { #expect(isKept) }
        }
        #expect(limit.count == 0)
    }

    @Test("A limit of zero grants no permit")
    func none() {
        #expect(isFull(ConcurrencyLimit(0)))
    }
}
