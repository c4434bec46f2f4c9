package import ApproovBase

/// Evidence together with what travels beside it: the body of an attestation request of type `application/json`.
///
/// Evidence alone travels as `application/jose` (``Evidence/mediaType``). The evidence contains a hash of the custom claims, so that they
/// cannot be exchanged.
package struct AttestationRequest: Sendable, Hashable {
    /// The media type of the body.
    package static let mediaType = "application/json"
    /// The most bytes beside the evidence: base64url of the longest custom claims, and room for the names.
    package static let maximumBytesBesideEvidence = 8 * 1024
    /// The most bytes of the body.
    package static let maximumBytes = Evidence.maximumBytes + maximumBytesBesideEvidence

    /// The evidence, a compact JWS.
    package let evidence: String
    /// The exact bytes of the claims for a custom JWT (``CustomClaims/bytes``); nil when none is requested.
    package let customClaims: [UInt8]?

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - evidence: The evidence, a compact JWS.
    ///   - customClaims: The exact bytes of the claims for a custom JWT; nil when none is requested.
    package init(evidence: String, customClaims: [UInt8]? = nil) {
        self.evidence = evidence
        self.customClaims = customClaims
    }

    /// Reads the members; ignores unknown ones.
    ///
    /// - Parameter json: A JSON object.
    /// - Throws: ``AttestationError`` with code `malformedMember` when `evidence` is missing, or `customClaims` is not base64url.
    package init(json: JSONValue) throws(AttestationError) {
        evidence = try json.string("evidence")
        guard let text = try json.optionalString("customClaims") else {
            customClaims = nil
            return
        }
        guard let bytes = Base64URL.decode(text) else {
            throw AttestationError(.malformedMember, "must be unpadded base64url", member: "customClaims")
        }
        customClaims = bytes
    }

    /// The members that have a value, as a JSON object.
    package var json: JSONValue {
        jsonObject(["evidence": .string(evidence), "customClaims": customClaims.map { .string(Base64URL.encode($0)) }])
    }
}
