public import ApproovBase
internal import Foundation

/// Why a replay store could not be opened, or could not record the use of a token.
///
/// The message never holds a token or its `jti`.
public struct ReplayStoreError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The store is full, and removes no record before its end.
        public static let storeFull = Code("storeFull")
        /// The store did not answer in time, or too many tokens wait to be recorded.
        public static let storeSlow = Code("storeSlow")
        /// The store cannot be opened, read or written, or its file was removed or replaced.
        public static let storeUnusable = Code("storeUnusable")
        /// Other users can read or write the store's file, or write to its folder.
        public static let storeInsecure = Code("storeInsecure")
        /// The store's file is damaged, empty, or not a replay store.
        public static let storeDamaged = Code("storeDamaged")
        /// A later release made or upgraded the store's file.
        public static let storeNewer = Code("storeNewer")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>

    /// Makes an error.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) { self.details = details }
}
