/// A queue without duplicates; removing an element takes the same time at every place.
struct AgeQueue<Element: Hashable> {
    private var links: [Element: (previous: Element?, next: Element?)] = [:]
    private var last: Element?
    /// The element that was appended first; nil when the queue is empty.
    private(set) var first: Element?

    var count: Int { links.count }
    var isEmpty: Bool { links.isEmpty }

    /// Appends an element that is not in the queue.
    mutating func append(_ element: Element) {
        links[element] = (last, nil)
        if let last { links.change(last) { $0.next = element } } else { first = element }
        last = element
    }

    /// Removes an element.
    ///
    /// - Returns: Whether it was in the queue.
    @discardableResult
    mutating func remove(_ element: Element) -> Bool {
        guard let (previous, next) = links.removeValue(forKey: element) else { return false }
        if let previous { links.change(previous) { $0.next = next } } else { first = next }
        if let next { links.change(next) { $0.previous = previous } } else { last = previous }
        return true
    }

    /// The first of the oldest `count` elements that fulfils a condition.
    func first(among count: Int, where isWanted: (Element) -> Bool) -> Element? {
        var element = first
        for _ in 0..<count {
            guard let candidate = element else { return nil }
            if isWanted(candidate) { return candidate }
            element = links[candidate]?.next
        }
        return nil
    }
}

extension AgeQueue: Sendable where Element: Sendable {}
