/// Bounds how often credentials are renewed; a value without a clock or a lock.
struct RenewalWindow {
    /// The most renewals in ``length``.
    static let maximum = 5
    static let length: Duration = .seconds(30)

    /// When the last renewals began; at most ``maximum``.
    private var begun: [Duration] = []

    /// Decides whether a renewal may begin, and if so, notes it.
    mutating func admits(at now: Duration) -> Bool {
        begun.removeAll { now - $0 >= Self.length }
        guard begun.count < Self.maximum else { return false }
        begun.append(now)
        return true
    }
}
