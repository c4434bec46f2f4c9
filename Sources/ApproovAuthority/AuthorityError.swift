public import ApproovBase
internal import Foundation
internal import HTTPServing

/// An error of the authority or its store.
///
/// The message never holds a key, a secret, a token or a header value.
public struct AuthorityError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The data directory or its database cannot be opened, read or written.
        public static let storeUnusable = Code("storeUnusable")
        /// Other users can write to the data directory or access the database, or the directory belongs to another user.
        public static let storeInsecure = Code("storeInsecure")
        /// The database is empty or lost, or a row of it does not have a valid value.
        public static let storeDamaged = Code("storeDamaged")
        /// The data directory has no store, and the operation does not create one.
        public static let storeMissing = Code("storeMissing")
        /// A later release has upgraded the store.
        public static let storeNewer = Code("storeNewer")
        /// A host name or pattern is malformed or too wide, or occurs twice in a list.
        public static let malformedHost = Code("malformedHost")
        /// A pin is not `sha256/` and the base64 of 32 bytes, is the hash of no key, or occurs twice in a list.
        public static let malformedPin = Code("malformedPin")
        /// A host's trust roots are not certificates, or none of them is valid today.
        public static let malformedTrustRoots = Code("malformedTrustRoots")
        /// An enforced host has no pins, and no managed trust roots are set.
        public static let pinsRequired = Code("pinsRequired")
        /// The account has no such host.
        public static let unknownHost = Code("unknownHost")
        /// The operation is not supported: for example, a change through a store that was opened for reading.
        public static let unsupported = Code("unsupported")
        /// A measurement is neither the base64 of 32 bytes nor 64 hexadecimal digits.
        public static let malformedMeasurement = Code("malformedMeasurement")
        /// The account has no such registration.
        public static let unknownRegistration = Code("unknownRegistration")
        /// The device has no such policy, or no device has been attested yet.
        public static let unknownDevice = Code("unknownDevice")
        /// A keyset's key identifier, algorithm or key is malformed.
        public static let malformedKeyset = Code("malformedKeyset")
        /// The account has no such keyset.
        public static let unknownKeyset = Code("unknownKeyset")
        /// A keyset with that key identifier already exists.
        public static let keysetExists = Code("keysetExists")
        /// The account has the most keysets for tokens that it may have.
        public static let tooManyKeysets = Code("tooManyKeysets")
        /// A host still signs with the keyset.
        public static let keysetInUse = Code("keysetInUse")
        /// A keyset is for another use: one for custom JWTs signs no tokens, and one for tokens signs no custom JWTs.
        public static let wrongKeysetUse = Code("wrongKeysetUse")
        /// A secure string's key or value is not allowed.
        public static let malformedSecureString = Code("malformedSecureString")
        /// The account has no such secure string.
        public static let unknownSecureString = Code("unknownSecureString")
        /// The account has the most secure strings that it may have.
        public static let tooManySecureStrings = Code("tooManySecureStrings")
        /// Every client would refuse the resulting configuration.
        public static let configurationRefused = Code("configurationRefused")
        /// An account name is malformed.
        public static let malformedAccount = Code("malformedAccount")
        /// The overlap of the last change of the secret is still running, so another change with an overlap is refused.
        public static let secretOverlapRunning = Code("secretOverlapRunning")
        /// A setting or argument is invalid or missing, or contradicts another one.
        public static let invalidConfiguration = Code("invalidConfiguration")
        /// Plain HTTP was requested on an address that is not loopback.
        public static let insecureListener = Code("insecureListener")
        /// The server cannot listen on the address or port.
        public static let cannotListen = Code("cannotListen")
        /// The demo account's published keys are used on an address that is not loopback.
        public static let demoKeysExposed = Code("demoKeysExposed")
        /// The server's key may have been rotated a short time ago, so another rotation is refused.
        public static let rotationTooSoon = Code("rotationTooSoon")
        /// The server's certificate or key cannot be made or read.
        public static let identityFailed = Code("identityFailed")
        /// The text is not an attestation response code of this account.
        public static let malformedARC = Code("malformedARC")
        /// A host cannot be oblivious because the account has no relay.
        public static let obliviousUnset = Code("obliviousUnset")
        /// The relay cannot be removed while a host is oblivious.
        public static let obliviousInUse = Code("obliviousInUse")
        /// A relay's URL or a gateway's key configurations cannot be used.
        public static let malformedOblivious = Code("malformedOblivious")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>

    /// Makes an error.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) { self.details = details }
}

extension AuthorityError: ListenerError {}
extension AuthorityError.Code: ListenerErrorCode {}
