public import ApproovBase
internal import Foundation
package import HTTPServing

/// An error in how the token check is set up or used.
///
/// The message never holds a key, a secret, a token or a header value.
public struct TokenCheckError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A setting of the token check or of the connection guard is invalid, or contradicts another one.
        public static let invalidConfiguration = Code("invalidConfiguration")
        /// The server's certificate or key cannot be read.
        public static let identityFailed = Code("identityFailed")
        /// The demo account's published secret is used for an audience that is not a loopback name.
        public static let demoKeysExposed = Code("demoKeysExposed")
        /// A handler asked for the verified token of a request that was not checked.
        public static let tokenMissing = Code("tokenMissing")
        /// A handler asked for the verified signature of a request that was not checked.
        public static let signatureMissing = Code("signatureMissing")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>

    /// Makes an error.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) { self.details = details }
}

extension TokenCheckError: ListenerError {
    package static func code(for kind: ListenerFailure.Kind) -> Code {
        switch kind {
        case .unreadableIdentity: .identityFailed
        case .insecure, .cannotListen, .malformedProxy: .invalidConfiguration
        }
    }
}
