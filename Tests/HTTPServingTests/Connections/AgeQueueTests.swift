import Testing

@testable import HTTPServing

@Suite struct AgeQueueTests {
    @Test("Elements leave in the order in which they were added, and any element can be removed")
    func order() {
        var queue = AgeQueue<Int>()
        for element in 1...5 { queue.append(element) }
        #expect(queue.remove(3) && !queue.remove(3))
        #expect(queue.remove(1) && queue.remove(5))
        queue.append(6)
        var order: [Int] = []
        while let first = queue.first {
            order.append(first)
            queue.remove(first)
        }
        #expect(order == [2, 4, 6] && queue.isEmpty && queue.count == 0)
    }

    @Test("The search returns the first match among the given number of elements")
    func search() {
        var queue = AgeQueue<Int>()
        for element in 1...5 { queue.append(element) }
        #expect(queue.first(among: 5) { $0 > 3 } == 4)
        #expect(queue.first(among: 3) { $0 > 3 } == nil)
        #expect(AgeQueue<Int>().first(among: 3) { _ in true } == nil)
    }
}
