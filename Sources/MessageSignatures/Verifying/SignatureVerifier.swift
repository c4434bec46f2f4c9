public import ApproovBase
internal import Foundation
internal import HTTPTypes

/// Verifies the one signature of a message that belongs to a key (RFC 9421, section 3.2).
///
///     let verifier = SignatureVerifier(
///         keys: [.ecdsaP256SHA256(key)], requirements: SignatureRequirements(covering: [.method, .targetURI]))
///     let signature = try verifier.verify(.request(request))
///
/// The verifier finds the signature by its tag, its key ID and its algorithm, and never by its label. It refuses a message when more than
/// one signature could be meant. It ignores the other signatures, but for their form.
public struct SignatureVerifier: Sendable {
    /// Some 30,000 years, in seconds.
    private static let longestTime: Int64 = 1_000_000_000_000

    private let keys: [SignatureVerificationKey]
    private let requirements: SignatureRequirements
    private let structuredFields: StructuredFields
    private let time: any TimeSource

    /// Makes a verifier.
    ///
    /// - Parameters:
    ///   - keys: The keys. A key with an ID verifies signatures that name it or no key; a key without ID verifies all signatures of its
    ///     algorithm.
    ///   - requirements: The coverage, age and parameters that a signature must have.
    ///   - structuredFields: The structured fields that the application knows, for the component parameters `sf` and `key`.
    ///   - time: The clock.
    public init(
        keys: [SignatureVerificationKey], requirements: SignatureRequirements, structuredFields: StructuredFields = .known,
        time: any TimeSource = SystemTimeSource()
    ) {
        self.keys = keys
        self.requirements = requirements
        self.structuredFields = structuredFields
        self.time = time
    }

    /// Verifies a message's signature.
    ///
    /// It does not read the content: check a covered Content-Digest with ``ContentDigest``.
    ///
    /// - Parameter message: The message, as received.
    /// - Returns: The verified signature.
    /// - Throws: ``MessageSignatureError`` with a code for the first rule that is broken.
    public func verify(_ message: SignableMessage) throws(MessageSignatureError) -> VerifiedSignature {
        let fields =
            switch message {
            case .request(let request): request.fields
            case .response(let response): response.fields
            }
        let (received, key) = try choose(from: try ReceivedSignature.all(in: fields))
        let parameters = try SignatureParameters(items: received.items, parameters: received.parameters)
        try check(parameters)
        guard let signature = received.signature.bytes(acceptingStrings: requirements.acceptsStringSignatures) else {
            throw MessageSignatureError(.malformedField, "the signature is not a byte sequence (RFC 9421, section 4.2)")
        }
        let base = try SignatureBase(message, parameters: parameters, structuredFields: structuredFields)
        guard key.isValid(signature, for: base.bytes) else {
            throw MessageSignatureError(
                .invalidSignature, "the signature does not verify with this key" + Self.explanation(of: base, fields))
        }
        return VerifiedSignature(label: received.label, parameters: parameters, key: key)
    }

    /// The one signature that belongs to one of the keys.
    private func choose(
        from all: [ReceivedSignature]
    ) throws(MessageSignatureError) -> (ReceivedSignature, SignatureVerificationKey) {
        var chosen: (ReceivedSignature, SignatureVerificationKey)?
        var isOfOtherAlgorithm = false
        for received in all where requirements.tag == received.text(of: "tag") && received.has("tag") == (requirements.tag != nil) {
            let id = received.text(of: "keyid")
            guard !received.has("keyid") || id != nil else { continue }
            for key in keys where id == nil || key.id == nil || id == key.id {
                guard !received.has("alg") || received.text(of: "alg") == key.algorithm.rawValue else {
                    isOfOtherAlgorithm = true
                    continue
                }
                guard chosen == nil else {
                    throw MessageSignatureError(
                        .ambiguousSignature,
                        "two signatures or two keys match: give the keys IDs and name one in keyid, and give other signatures a tag")
                }
                chosen = (received, key)
            }
        }
        guard let chosen else {
            throw isOfOtherAlgorithm
                ? MessageSignatureError(.algorithmMismatch, "the signature's algorithm is not the key's")
                : MessageSignatureError(.noMatchingSignature, "no signature has the tag and the key ID that the verifier accepts")
        }
        return chosen
    }

    /// Explains an invalid signature, if the client sent the digest of the signature base that it signed for debugging.
    private static func explanation(of base: SignatureBase, _ fields: HTTPFields) -> String {
        // Each signature of the message may have one, on its own line or, after a proxy, in a list.
        guard let digests = fields[SignatureBase.debugFieldName] else { return "" }
        return digests.split(separator: ",").contains { $0.trimmingPrefix(" ") == base.debugDigest }
            ? "; client and server have the same signature base, so their keys differ"
            : "; client and server have different signature bases, so the value of a covered component differs"
    }

    private func check(_ parameters: SignatureParameters) throws(MessageSignatureError) {
        for component in requirements.components where !parameters.components.contains(component) {
            throw MessageSignatureError(.insufficientCoverage, "the signature does not cover \(component)")
        }
        func required(_ name: String) -> MessageSignatureError {
            MessageSignatureError(.missingParameter, "the signature lacks the parameter \(name)")
        }
        guard let created = parameters.created else { throw required("created") }
        if requirements.requiresExpires, parameters.expires == nil { throw required("expires") }
        if requirements.requiresAlgorithm, parameters.algorithm == nil { throw required("alg") }
        if requirements.requiresNonce, parameters.nonce == nil { throw required("nonce") }
        let now = Int64(time.date.timeIntervalSince1970.rounded(.down))
        // Bounded, so that no sum overflows.
        let skew = min(requirements.clockSkew.components.seconds, Self.longestTime)
        let maximumAge = min(requirements.maximumAge.components.seconds, Self.longestTime)
        guard created <= now + skew else {
            throw MessageSignatureError(.createdInFuture, "the signature was created in the future; check both clocks")
        }
        guard now - created <= maximumAge + skew else {
            throw MessageSignatureError(.tooOld, "the signature is older than the verifier accepts; sign again, and check both clocks")
        }
        guard let expires = parameters.expires else { return }
        guard expires >= created, expires + skew >= now else {
            throw MessageSignatureError(.expired, "the signature has expired; sign again, and check both clocks")
        }
    }
}
