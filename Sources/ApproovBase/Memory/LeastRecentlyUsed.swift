/// A dictionary of limited size: when it is full, the least recently used entry makes room.
///
/// Look-up, use, insertion and removal take the same time for any number of entries. Public for the modules of this package alone (SPI):
/// the compiler makes versions for their types, two to ten times as fast as the generic one, only of public inlinable code.
@_spi(Internals) public struct LeastRecentlyUsed<Key: Hashable, Value> {
    @usableFromInline struct Node {
        @usableFromInline var key: Key
        @usableFromInline var value: Value
        /// Towards the most recently used.
        @usableFromInline var newer: Int
        /// Towards the least recently used.
        @usableFromInline var older: Int

        @inlinable init(key: Key, value: Value, newer: Int, older: Int) {
            (self.key, self.value, self.newer, self.older) = (key, value, newer, older)
        }
    }

    @inlinable static var none: Int { -1 }

    /// The most entries.
    public let capacity: Int
    @usableFromInline var places: [Key: Int] = [:]
    @usableFromInline var nodes: [Node?] = []
    @usableFromInline var free: [Int] = []
    @usableFromInline var newest = none
    @usableFromInline var oldest = none

    /// Makes an empty dictionary.
    ///
    /// - Parameter capacity: The most entries, at least 1.
    @inlinable public init(capacity: Int) {
        precondition(capacity > 0)
        self.capacity = capacity
    }

    /// The number of entries.
    @inlinable public var count: Int { places.count }

    /// The key of the least recently used entry; nil if there is none.
    @inlinable public var leastRecentKey: Key? { oldest == Self.none ? nil : nodes[oldest]?.key }

    /// The value; this does not count as a use.
    @inlinable public func peek(_ key: Key) -> Value? { places[key].flatMap { nodes[$0]?.value } }

    /// Changes the value in place; counts as a use unless `isUse` is false.
    ///
    /// - Parameters:
    ///   - key: The entry's key.
    ///   - isUse: Whether the entry becomes the most recently used one.
    ///   - body: Changes the value.
    /// - Returns: What `body` returns; nil when the key has no entry.
    @inlinable public mutating func update<Result>(_ key: Key, isUse: Bool = true, _ body: (inout Value) -> Result) -> Result? {
        guard let place = places[key], var node = nodes[place] else { return nil }
        // Taken out and put back, so that the value is changed in place and not copied.
        nodes[place] = nil
        let result = body(&node.value)
        nodes[place] = node
        if isUse, newest != place {
            unlink(place)
            linkAsNewest(place)
        }
        return result
    }

    /// Inserts or replaces an entry as the most recently used one; when there would be too many, removes the least recently used one.
    ///
    /// - Parameters:
    ///   - value: The entry's value.
    ///   - key: The entry's key.
    @inlinable public mutating func insert(_ value: Value, for key: Key) {
        if update(key, { $0 = value }) != nil { return }
        if places.count == capacity, let node = nodes[oldest] { remove(node.key) }
        let node = Node(key: key, value: value, newer: Self.none, older: Self.none)
        let place: Int
        if let reused = free.popLast() {
            place = reused
            nodes[place] = node
        } else {
            place = nodes.count
            nodes.append(node)
        }
        places[key] = place
        linkAsNewest(place)
    }

    /// Removes the entry, if it exists.
    @inlinable public mutating func remove(_ key: Key) {
        guard let place = places.removeValue(forKey: key) else { return }
        unlink(place)
        nodes[place] = nil
        free.append(place)
    }

    /// Removes the entries whose keys satisfy the predicate; looks at every entry.
    ///
    /// - Returns: The number of removed entries.
    @inlinable @discardableResult public mutating func removeAll(where isRemoved: (Key) -> Bool) -> Int {
        let keys = places.keys.filter(isRemoved)
        for key in keys { remove(key) }
        return keys.count
    }

    @inlinable mutating func unlink(_ place: Int) {
        guard let node = nodes[place] else { return }
        if node.newer == Self.none { newest = node.older } else { nodes[node.newer]?.older = node.older }
        if node.older == Self.none { oldest = node.newer } else { nodes[node.older]?.newer = node.newer }
    }

    @inlinable mutating func linkAsNewest(_ place: Int) {
        nodes[place]?.newer = Self.none
        nodes[place]?.older = newest
        if newest == Self.none { oldest = place } else { nodes[newest]?.newer = place }
        newest = place
    }
}
