public import Foundation
internal import HTTPListener

/// What went wrong in the authority, its store or the token check, and what to do about it.
///
/// The message never holds a key, a secret, a token or a header value.
public struct ServerError: Error, Sendable, CustomStringConvertible {
    /// A stable, comparable name for the kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case storeUnusable, storeInsecure, storeDamaged, storeMissing, storeNewer
            case malformedHost, malformedPin, malformedTrustRoots, pinsRequired, unknownHost, unsupported
            case malformedMeasurement, unknownRegistration
            case malformedKeyset, unknownKeyset, keysetExists, keysetInUse
            case configurationRefused, malformedAccount, secretOverlapRunning
            case invalidConfiguration, insecureListener, cannotListen, demoKeysExposed, identityFailed, malformedARC
            case tokenMissing, obliviousUnset, obliviousInUse, malformedOblivious, malformedOrigin, gatewayKeysUnusable
        }

        private let value: Value

        private init(_ value: Value) {
            self.value = value
        }

        /// The code's name.
        public var description: String { value.rawValue }

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
        /// A handler asked for the verified token of a request that was not checked.
        public static let tokenMissing = Code(.tokenMissing)
        /// A host is to be oblivious, and the account has no relay.
        public static let obliviousUnset = Code(.obliviousUnset)
        /// The relay cannot go while a host is oblivious.
        public static let obliviousInUse = Code(.obliviousInUse)
        /// A relay's URL or a gateway's key configurations cannot be used.
        public static let malformedOblivious = Code(.malformedOblivious)
        /// What a gateway is to forward to is not an origin.
        public static let malformedOrigin = Code(.malformedOrigin)
        /// A gateway's key file cannot be read or written, or does not hold its keys.
        public static let gatewayKeysUnusable = Code(.gatewayKeysUnusable)
    }

    /// What kind of failure this is.
    public let code: Code
    /// What happened, to what, and the remedy.
    public let message: String
    /// The error underneath, when there is one.
    public let cause: (any Error)?

    /// Makes an error.
    /// - Parameters:
    ///   - code: the kind of failure
    ///   - message: what happened, to what, and the remedy; nothing secret
    ///   - cause: the error underneath
    public init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// Code, message and cause in one line.
    public var description: String {
        guard let cause else { return "\(code): \(message)" }
        return "\(code): \(message) (\(cause))"
    }
}

extension ServerError: Equatable {
    /// Two errors are equal when their codes are.
    public static func == (left: ServerError, right: ServerError) -> Bool {
        left.code == right.code
    }
}

extension ServerError {
    /// What keeps a server of this module from listening.
    init(_ failure: ListenerFailure) {
        let code: Code =
            switch failure.kind {
            case .insecure: .insecureListener
            case .unreadableIdentity: .identityFailed
            case .cannotListen: .cannotListen
            }
        self.init(code: code, message: failure.message, cause: failure.cause)
    }
}

extension ServerError: LocalizedError {
    /// The same as the description, for whoever prints `localizedDescription`.
    public var errorDescription: String? { description }
}
