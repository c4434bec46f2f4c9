internal import Synchronization

/// Marks the tasks that do a piece of work, such as that of a barrier.
package protocol WorkMark: AnyObject, Sendable {
    /// Called when the work begins to wait for an operation that others share; the operation's tasks have the mark from now on.
    func didSpread()
}

/// The marks of the work that waits for a task.
///
/// A child task and a task made with `Task {}` inherit the marks of their maker. A shared operation starts without marks. Each caller adds
/// its own marks when it starts waiting, even if the operation already runs.
package final class WorkMarks: Sendable {
    /// The marks of the current task; nil if it has none.
    @TaskLocal package static var current: WorkMarks?

    private struct State {
        var own: [any WorkMark]
        /// The marks of the callers; they may change, too.
        var joined: [WorkMarks]
    }

    private let state: Mutex<State>

    /// Makes marks.
    ///
    /// - Parameters:
    ///   - mark: The first mark; nil for none.
    ///   - outer: The marks that these are added to.
    package init(_ mark: (any WorkMark)? = nil, within outer: WorkMarks? = nil) {
        state = Mutex(State(own: mark.map { [$0] } ?? [], joined: outer.map { [$0] } ?? []))
    }

    /// Whether one of the marks satisfies the predicate.
    package func contains(where isSought: (any WorkMark) -> Bool) -> Bool { all.contains(where: isSought) }

    /// Adds the current task's marks, because it is about to wait for the operation with these marks.
    package func joinCurrent() {
        guard let other = Self.current, other !== self else { return }
        let isNew = state.withLock { state in
            guard !state.joined.contains(where: { $0 === other }) else { return false }
            state.joined.append(other)
            return true
        }
        guard isNew else { return }
        for mark in other.all { mark.didSpread() }
    }

    /// Removes all marks, because the operation has ended.
    package func end() { state.withLock { $0 = State(own: [], joined: []) } }

    private var all: [any WorkMark] {
        var (found, seen, next): ([any WorkMark], [WorkMarks], [WorkMarks]) = ([], [], [self])
        while let marks = next.popLast() {
            // Operations that wait for each other have each other's marks.
            guard !seen.contains(where: { $0 === marks }) else { continue }
            seen.append(marks)
            let state = marks.state.withLock { $0 }
            found += state.own
            next += state.joined
        }
        return found
    }
}
