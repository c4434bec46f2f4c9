internal import ApproovBase
internal import Crypto
public import HTTPTypes

/// The digest of a message's content (RFC 9530, section 2), for the field Content-Digest.
///
/// It covers the bytes as sent, after content codings. A signature protects the content only if it covers `content-digest` and the receiver
/// checks the digest.
public struct ContentDigest: Sendable, Hashable {
    /// An algorithm (RFC 9530, section 5).
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        /// SHA-256.
        case sha256 = "sha-256"
        /// SHA-512.
        case sha512 = "sha-512"
    }

    /// The name of the field.
    public static let fieldName = HTTPField.Name(known: "Content-Digest")

    /// The digests by algorithm, one or more.
    private let values: [Value]

    private struct Value: Sendable, Hashable {
        let algorithm: Algorithm
        let digest: [UInt8]
    }

    /// Computes the digest of a whole content.
    ///
    /// - Parameters:
    ///   - content: The content, as sent.
    ///   - algorithm: The algorithm.
    public init(of content: [UInt8], _ algorithm: Algorithm = .sha256) {
        var hasher = Hasher([algorithm])
        hasher.update(content)
        self = hasher.finalize()
    }

    fileprivate init(_ values: [(Algorithm, [UInt8])]) { self.values = values.map { Value(algorithm: $0, digest: $1) } }

    /// Reads the field Content-Digest.
    ///
    /// - Parameters:
    ///   - fields: The header fields of a message.
    ///   - acceptingStrings: Whether a digest may be a string with base64 in it, as early releases of Approov's own SDK send it.
    /// - Returns: The digest; nil if the field is not there.
    /// - Throws: ``MessageSignatureError`` with code `malformedField` when the field is not a dictionary of byte sequences or is empty,
    ///   `duplicateName` when an algorithm occurs twice, and `unknownDigest` when an algorithm is not one of ``Algorithm``, because an
    ///   unchecked digest must not look checked.
    public static func read(
        from fields: HTTPFields, acceptingStrings: Bool = false
    ) throws(MessageSignatureError) -> ContentDigest? {
        guard let members = try fields.dictionary(fieldName) else { return nil }
        var values: [(Algorithm, [UInt8])] = []
        for member in members {
            guard let algorithm = Algorithm(rawValue: member.key) else {
                throw MessageSignatureError(
                    .unknownDigest, "Content-Digest has the unknown algorithm \(LoggableText.name(member.key)); use sha-256 or sha-512")
            }
            guard case .item(let item) = member.value, item.parameters.isEmpty,
                let digest = item.value.bytes(acceptingStrings: acceptingStrings)
            else { throw malformed }
            values.append((algorithm, digest))
        }
        guard !values.isEmpty else { throw malformed }
        return ContentDigest(values)
    }

    private static var malformed: MessageSignatureError {
        MessageSignatureError(.malformedField, "Content-Digest is not a dictionary of byte sequences (RFC 9530, section 2)")
    }

    /// The algorithms, in the order of the field.
    public var algorithms: [Algorithm] { values.map(\.algorithm) }

    /// The value of the field Content-Digest.
    public var fieldValue: String {
        values.map { "\($0.algorithm.rawValue)=:\(Base64.encode($0.digest)):" }.joined(separator: ", ")
    }

    /// A hasher for content that this digest must match; pass its result to ``check(_:)-(ContentDigest)``.
    public var hasher: Hasher { Hasher(algorithms) }

    /// Checks a whole content.
    ///
    /// - Parameter content: The content, as received.
    /// - Throws: ``MessageSignatureError`` with code `digestMismatch` when one of the digests is not that of the content.
    public func check(_ content: [UInt8]) throws(MessageSignatureError) {
        var hasher = hasher
        hasher.update(content)
        try check(hasher.finalize())
    }

    /// Checks the digest that ``hasher`` computed from a content.
    ///
    /// - Parameter computed: The computed digest.
    /// - Throws: ``MessageSignatureError`` with code `digestMismatch` when the digests differ.
    public func check(_ computed: ContentDigest) throws(MessageSignatureError) {
        guard computed == self else {
            throw MessageSignatureError(
                .digestMismatch, "the content does not match Content-Digest; compute the digest from the bytes that are sent")
        }
    }

    /// Computes a digest from content that comes in parts.
    public struct Hasher: Sendable {
        private var sha256: SHA256?
        private var sha512: SHA512?
        private let algorithms: [Algorithm]

        /// Makes a hasher.
        ///
        /// - Parameter algorithms: The algorithms, without repetition.
        public init(_ algorithms: [Algorithm] = [.sha256]) {
            self.algorithms = algorithms
            if algorithms.contains(.sha256) { sha256 = SHA256() }
            if algorithms.contains(.sha512) { sha512 = SHA512() }
        }

        /// Adds the next part.
        ///
        /// - Parameter part: The next bytes of the content.
        public mutating func update(_ part: [UInt8]) {
            part.withUnsafeBytes { update($0) }
        }

        /// Adds the next part.
        ///
        /// - Parameter part: The next bytes of the content; they are only read during the call.
        public mutating func update(_ part: UnsafeRawBufferPointer) {
            sha256?.update(bufferPointer: part)
            sha512?.update(bufferPointer: part)
        }

        /// The digest of all parts.
        ///
        /// - Returns: The digest.
        public func finalize() -> ContentDigest {
            ContentDigest(
                algorithms.compactMap { algorithm in
                    switch algorithm {
                    case .sha256: sha256.map { (algorithm, Array($0.finalize())) }
                    case .sha512: sha512.map { (algorithm, Array($0.finalize())) }
                    }
                })
        }
    }
}
