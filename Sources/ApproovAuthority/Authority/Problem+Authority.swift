internal import Attestation

/// The authority's responses to requests that it does not judge.
///
/// All cases of one kind have the same text, which reveals nothing internal.
extension Problem {
    static let evidenceMalformed = Problem(
        .evidenceMalformed, title: "The evidence cannot be read", status: 400, detail: "Update the SDK; evidence is a compact JWS.")
    static let evidenceSignature = Problem(
        .evidenceSignature, title: "The evidence is not signed by the key it names", status: 400,
        detail: "Sign the evidence with the key in its header.")
    static let wrongAudience = Problem(
        .wrongAudience, title: "The evidence is for another authority", status: 400,
        detail: "Use this authority's initial configuration; the authority must be served under the URL in it.")
    static let wrongAccount = Problem(
        .wrongAccount, title: "The evidence is for another account", status: 403, detail: "Use this account's initial configuration.")
    static let unknownHost = Problem(
        .unknownHost, title: "The account does not protect this host", status: 400,
        detail: "Add it: approov api -add HOST -pinFrom CERTIFICATE -pin BACKUP")
    static let challengeUnknown = Problem(
        .challengeUnknown, title: "This authority did not issue the challenge to this installation", status: 400,
        detail: "Request a new challenge and try again.")
    static let challengeExpired = Problem(
        .challengeExpired, title: "The challenge has expired", status: 400, detail: "Request a new challenge and try again.")
    static let challengeUsed = Problem(
        .challengeUsed, title: "The challenge was used before", status: 409, detail: "Request a new challenge and try again.")
    static let rateLimited = Problem(
        .rateLimited, title: "Too many attestations from this address", status: 429, detail: "Wait for the time in Retry-After.")
    static let bodyTooLarge = Problem(.bodyTooLarge, title: "The body is too large", status: 413)
    static let wrongMediaType = Problem(
        .wrongMediaType, title: "The body has the wrong media type", status: 415,
        detail: "Send evidence as application/jose, or with custom claims beside it as application/json.")
    static let badPayload = Problem(
        .badPayload, title: "The custom claims cannot be signed", status: 400,
        detail: "Send a JSON object of at most \(CustomClaims.maximumBytes) bytes without repeated members, with aud as the requested "
            + "audience and without the other reserved names: "
            + CustomClaims.reservedNames.subtracting(["aud"]).sorted().joined(separator: ", ") + ".")
    static let disabled = Problem(
        .disabled, title: "The account issues no custom JWTs", status: 403,
        detail: "Turn them on: approov customjwt -enable on; their keyset: approov keyset -add ES256 -kid KID -use custom")
    static let notFound = Problem(.notFound, title: "The authority has no such resource", status: 404)
    static let malformedRequest = Problem(
        Name("malformed-request"), title: "The request cannot be understood", status: 400,
        detail: "The parameter since must be a number of at least 0, and hash the base64url of 32 bytes.")
    static let notReady = Problem(Name("not-ready"), title: "The authority is starting", status: 503, detail: "Try again in a second.")
    static let internalError = Problem(.internalError, title: "The authority failed", status: 500, detail: "Try again later.")
}
