/// Why an answer gives no valid status.
struct RevocationProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
