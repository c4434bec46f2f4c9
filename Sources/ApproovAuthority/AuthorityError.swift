public import ApproovBase
internal import Foundation
internal import HTTPServing

/// An error of the authority or its store.
///
/// The message never holds a key, a secret, a token or a header value.
public struct AuthorityError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case storeUnusable, storeInsecure, storeDamaged, storeMissing, storeNewer
            case malformedHost, malformedPin, malformedTrustRoots, pinsRequired, unknownHost, unsupported
            case malformedMeasurement, unknownRegistration
            case malformedKeyset, unknownKeyset, keysetExists, keysetInUse
            case configurationRefused, malformedAccount, secretOverlapRunning
            case invalidConfiguration, insecureListener, cannotListen, demoKeysExposed, identityFailed, malformedARC
            case obliviousUnset, obliviousInUse, malformedOblivious
        }

        private let name: Name

        private init(_ name: Name) { self.name = name }

        /// The code's name.
        public var description: String { name.rawValue }

        /// The data directory or its database cannot be opened, read or written.
        public static let storeUnusable = Code(.storeUnusable)
        /// The data directory or its database is readable or writable by others.
        public static let storeInsecure = Code(.storeInsecure)
        /// A row of the store does not hold what it must.
        public static let storeDamaged = Code(.storeDamaged)
        /// There is no store in the data directory, and what was asked for makes none.
        public static let storeMissing = Code(.storeMissing)
        /// A later release has upgraded the store.
        public static let storeNewer = Code(.storeNewer)
        /// A host name or pattern does not parse.
        public static let malformedHost = Code(.malformedHost)
        /// A pin is not `sha256/` and the base64 of 32 bytes.
        public static let malformedPin = Code(.malformedPin)
        /// A host's trust roots are no certificates, or none of them holds today.
        public static let malformedTrustRoots = Code(.malformedTrustRoots)
        /// A host was added without pins where no managed trust roots are set.
        public static let pinsRequired = Code(.pinsRequired)
        /// The host is not one of the account's.
        public static let unknownHost = Code(.unknownHost)
        /// A setting asks for what this version does not do.
        public static let unsupported = Code(.unsupported)
        /// A measurement is not the base64 of 32 bytes.
        public static let malformedMeasurement = Code(.malformedMeasurement)
        /// No such registration.
        public static let unknownRegistration = Code(.unknownRegistration)
        /// A keyset's key identifier, algorithm or key does not parse.
        public static let malformedKeyset = Code(.malformedKeyset)
        /// No such keyset.
        public static let unknownKeyset = Code(.unknownKeyset)
        /// There is a keyset with that key identifier already.
        public static let keysetExists = Code(.keysetExists)
        /// A host still signs with the keyset.
        public static let keysetInUse = Code(.keysetInUse)
        /// The change would make a configuration that every client refuses.
        public static let configurationRefused = Code(.configurationRefused)
        /// An account name does not parse.
        public static let malformedAccount = Code(.malformedAccount)
        /// The secret was changed with an overlap that is not over, and is to be changed with another.
        public static let secretOverlapRunning = Code(.secretOverlapRunning)
        /// The authority's or the token check's own settings contradict each other.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// Plain http on an address that is not loopback.
        public static let insecureListener = Code(.insecureListener)
        /// The address or port cannot be listened on.
        public static let cannotListen = Code(.cannotListen)
        /// The demo account's published keys on an address that is not loopback.
        public static let demoKeysExposed = Code(.demoKeysExposed)
        /// A certificate or key for the server cannot be made or read.
        public static let identityFailed = Code(.identityFailed)
        /// The text is no attestation response code of this account.
        public static let malformedARC = Code(.malformedARC)
        /// A host is to be oblivious, and the account has no relay.
        public static let obliviousUnset = Code(.obliviousUnset)
        /// The relay cannot go while a host is oblivious.
        public static let obliviousInUse = Code(.obliviousInUse)
        /// A relay's URL or a gateway's key configurations cannot be used.
        public static let malformedOblivious = Code(.malformedOblivious)
    }

    /// The kind of failure.
    public let code: Code
    /// What happened, to what, and the remedy.
    public let message: String
    /// The error below, if there is one.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: What happened, to what, and the remedy; nothing secret.
    ///   - cause: The error below.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension AuthorityError {
    /// Maps the reason why the server cannot listen.
    init(_ failure: ListenerFailure) {
        let code: Code =
            switch failure.kind {
            case .insecure: .insecureListener
            case .unreadableIdentity: .identityFailed
            case .cannotListen: .cannotListen
            }
        self.init(code, failure.message, cause: failure.cause)
    }
}
