/// Admits each subject once per interval, and a limited number of different subjects.
package struct Throttle<Subject: Hashable> {
    private let interval: Duration?
    private let capacity: Int
    private var admitted: [Subject: Duration] = [:]

    /// Makes a throttle that has admitted nothing.
    ///
    /// - Parameters:
    ///   - interval: The shortest time between two admissions of one subject; nil admits each subject once.
    ///   - capacity: The most subjects that it remembers, and so the most that it admits within an interval.
    package init(interval: Duration?, capacity: Int) {
        self.interval = interval
        self.capacity = capacity
    }

    /// Whether the subject is admitted now; if so, counts it.
    ///
    /// - Parameters:
    ///   - subject: The subject.
    ///   - now: The monotonic time.
    /// - Returns: True unless the subject was admitted within the interval, or too many others were.
    package mutating func admits(_ subject: Subject, at now: Duration) -> Bool {
        if let last = admitted[subject] {
            guard isOver(last, at: now) else { return false }
        } else if admitted.count >= capacity {
            if interval != nil { admitted = admitted.filter { !isOver($0.value, at: now) } }
            // No subject makes room before its interval is over: subjects that change all the time could otherwise be admitted without limit.
            guard admitted.count < capacity else { return false }
        }
        admitted[subject] = now
        return true
    }

    /// Undoes `admits(_:at:)`.
    package mutating func forget(_ subject: Subject) { admitted[subject] = nil }

    private func isOver(_ admission: Duration, at now: Duration) -> Bool {
        guard let interval else { return false }
        return now - admission >= interval
    }
}
