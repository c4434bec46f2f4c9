package import ApproovBase

/// The error of a module that has a server, to which failures of its listener are converted.
package protocol ListenerError: CodedError {
    /// The code for a kind of failure.
    static func code(for kind: ListenerFailure.Kind) -> Code
}

/// The codes that a server's error has for the failures of its listener.
package protocol ListenerErrorCode: ErrorCode {
    /// Plain HTTP was requested on an address that is not loopback.
    static var insecureListener: Self { get }
    /// The server's certificate or key cannot be read.
    static var identityFailed: Self { get }
    /// The server cannot listen on the address or port.
    static var cannotListen: Self { get }
    /// A setting is invalid.
    static var invalidConfiguration: Self { get }
}

extension ListenerError where Code: ListenerErrorCode {
    package static func code(for kind: ListenerFailure.Kind) -> Code {
        switch kind {
        case .insecure: .insecureListener
        case .unreadableIdentity: .identityFailed
        case .cannotListen: .cannotListen
        case .malformedProxy: .invalidConfiguration
        }
    }
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
