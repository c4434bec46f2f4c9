/// Waits until a condition holds.
///
/// For what gives no event, such as another process or a log line. A test passes as soon as the condition holds; the limit only ends a
/// test that fails.
///
///     #expect(await eventually { server.counters.open == 0 })
///
/// - Parameters:
///   - limit: The maximum time to wait.
///   - condition: The condition; it is looked at every few milliseconds.
/// - Returns: Whether the condition held in time; false, too, when the task is cancelled.
/// - Throws: The condition's errors.
nonisolated(nonsending) public func eventually(
    within limit: Duration = .seconds(90), _ condition: nonisolated(nonsending) () async throws -> Bool
) async rethrows -> Bool {
    let end = ContinuousClock.now + limit
    while true {
        if try await condition() { return true }
        // The machine may have been busy: a limit that is over counts only once the condition has been looked at after it.
        let isLast = ContinuousClock.now >= end
        guard (try? await Task.sleep(for: .milliseconds(2))) != nil else { return false }
        if isLast { return try await condition() }
    }
}
