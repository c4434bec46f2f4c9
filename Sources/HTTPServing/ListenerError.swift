package import ApproovBase

/// The error of a module that has a server, to which failures of its listener are converted.
package protocol ListenerError: CodedError {
    /// The code for a kind of failure.
    static func code(for kind: ListenerFailure.Kind) -> Code
}

extension ListenerError {
    /// Converts a failure.
    package init(_ failure: ListenerFailure) {
        self.init(Self.code(for: failure.kind), failure.message, cause: failure.cause)
    }

    /// Runs `body`, and converts its failure.
    package static func converting<Value>(_ body: () throws(ListenerFailure) -> Value) throws(Self) -> Value {
        do {
            return try body()
        } catch {
            throw Self(error)
        }
    }
}
