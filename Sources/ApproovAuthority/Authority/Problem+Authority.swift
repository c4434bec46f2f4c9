internal import Attestation

/// The authority's responses to requests that it does not judge.
///
/// All cases of one kind have the same text, which reveals nothing internal.
extension Problem {
    static let evidenceMalformed = Problem(
        .evidenceMalformed, title: "The evidence cannot be read", status: 400, detail: "Update the SDK; evidence is a compact JWS.")
    static let evidenceSignature = Problem(
        .evidenceSignature, title: "The evidence is not signed by the key it names", status: 400,
        detail: "Sign the evidence with the installation key in its header.")
    static let wrongAudience = Problem(
        .wrongAudience, title: "The evidence is for another authority", status: 400,
        detail: "Use the initial configuration of this authority; its URL must be the one it is served under.")
    static let wrongAccount = Problem(
        .wrongAccount, title: "The evidence is for another account", status: 403, detail: "Use the initial configuration of this account.")
    static let unknownHost = Problem(
        .unknownHost, title: "The account does not protect this host", status: 400, detail: "Add it with: approov api -add HOST")
    static let challengeUnknown = Problem(
        .challengeUnknown, title: "The challenge is not one of this authority's for this installation", status: 400,
        detail: "Ask for a new challenge and try once more.")
    static let challengeExpired = Problem(
        .challengeExpired, title: "The challenge has expired", status: 400, detail: "Ask for a new challenge and try once more.")
    static let challengeUsed = Problem(
        .challengeUsed, title: "The challenge was used before", status: 409, detail: "Ask for a new challenge and try once more.")
    static let rateLimited = Problem(
        .rateLimited, title: "Too many attestations from this address", status: 429, detail: "Wait as long as Retry-After says.")
    static let bodyTooLarge = Problem(.bodyTooLarge, title: "The body is too large", status: 413)
    static let wrongMediaType = Problem(
        .wrongMediaType, title: "The body has the wrong media type", status: 415, detail: "Send application/jose.")
    static let notFound = Problem(.notFound, title: "There is nothing here", status: 404)
    static let malformedRequest = Problem(
        Name("malformed-request"), title: "The request cannot be understood", status: 400, detail: "since is a number from 0 on.")
    static let notReady = Problem(Name("not-ready"), title: "The authority is starting", status: 503, detail: "Try again in a second.")
    static let internalError = Problem(.internalError, title: "The authority failed", status: 500, detail: "Try again later.")
}
