@_spi(Internals) import ApproovBase
import Testing

@Suite struct LeastRecentlyUsedTests {
    @Test("A full cache evicts its least recently used entry")
    func evicts() {
        var cache = LeastRecentlyUsed<String, Int>(capacity: 3)
        for (number, key) in ["a", "b", "c"].enumerated() { cache.insert(number, for: key) }
        _ = cache.update("a") { $0 }
        cache.insert(3, for: "d")
        #expect(cache.peek("b") == nil)
        #expect(cache.peek("a") == 0)
        #expect(cache.peek("c") == 2)
        #expect(cache.peek("d") == 3)
        #expect(cache.count == 3)
    }

    @Test("Entries that a predicate picks are removed, and the others keep their order")
    func removesWhere() {
        var cache = LeastRecentlyUsed<Int, Int>(capacity: 4)
        for key in 1...4 { cache.insert(key, for: key) }
        #expect(cache.removeAll { $0.isMultiple(of: 2) } == 2)
        #expect(cache.removeAll { $0.isMultiple(of: 2) } == 0)
        #expect(cache.count == 2)
        for key in 5...7 { cache.insert(key, for: key) }
        #expect(cache.peek(1) == nil && cache.peek(3) == 3 && cache.count == 4)
    }

    @Test("Neither peek nor an update that is not a use saves an entry from eviction")
    func peeking() {
        var cache = LeastRecentlyUsed<Int, Int>(capacity: 2)
        cache.insert(1, for: 1)
        cache.insert(2, for: 2)
        _ = cache.peek(1)
        _ = cache.update(1, isUse: false) { $0 += 10 }
        cache.insert(3, for: 3)
        #expect(cache.peek(1) == nil)
        #expect(cache.peek(2) == 2)
    }

    @Test("The cache reuses the slot of any removed entry, and a second removal changes nothing")
    func removal() {
        for removed in 1...3 {
            var cache = LeastRecentlyUsed<Int, Int>(capacity: 3)
            for key in 1...3 { cache.insert(key, for: key) }
            cache.remove(removed)
            cache.remove(removed)
            #expect(cache.count == 2)
            for key in 4...20 { cache.insert(key, for: key) }
            #expect(cache.count == 3)
            #expect((18...20).allSatisfy { cache.peek($0) == $0 })
        }
    }

    @Test("The cache agrees with a plain list over 20,000 random operations")
    func model() {
        var cache = LeastRecentlyUsed<Int, Int>(capacity: 8)
        var list: [(key: Int, value: Int)] = []
        var generator = SystemRandomNumberGenerator()
        for step in 0..<20_000 {
            let key = Int.random(in: 0..<20, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0:
                cache.insert(step, for: key)
                list.removeAll { $0.key == key }
                list.append((key, step))
                if list.count > 8 { list.removeFirst() }
            case 1:
                let found = cache.update(key) { $0 }
                #expect(found == list.first { $0.key == key }?.value)
                if let index = list.firstIndex(where: { $0.key == key }) { list.append(list.remove(at: index)) }
            default:
                cache.remove(key)
                list.removeAll { $0.key == key }
            }
            #expect(cache.count == list.count)
        }
        #expect(list.allSatisfy { cache.peek($0.key) == $0.value })
    }

    @Test("The least recently used key is known as long as there are entries")
    func leastRecent() {
        var cache = LeastRecentlyUsed<String, Int>(capacity: 3)
        #expect(cache.leastRecentKey == nil)
        for (value, key) in ["a", "b", "c"].enumerated() { cache.insert(value, for: key) }
        #expect(cache.leastRecentKey == "a")
        _ = cache.update("a") { $0 }
        #expect(cache.leastRecentKey == "b")
        cache.remove("b")
        #expect(cache.leastRecentKey == "c")
        cache.remove("c")
        cache.remove("a")
        #expect(cache.leastRecentKey == nil)
    }
}
