/// A step of the demo; the cases are in the order in which the steps run.
enum DemoStep: String, CaseIterable {
    case start
    case attestedCall = "attested-call"
    case otherAuthorization = "other-authorization"
    case signedRequest = "signed-request"
    case limitedUse = "limited-use"
    case secureString = "secure-string"
    case tokenRefresh = "token-refresh"
    case logOut = "log-out"
    case impostor
    case unregisteredExecutable = "unregistered-executable"
    case oblivious
    case rotatedPins = "rotated-pins"
    case restartOffline = "restart-offline"

    /// What the step proves when it holds, in words for a reader who has never seen the system.
    var claim: String {
        switch self {
        case .start: "All servers run on this machine, each with TLS"
        case .attestedCall: "A registered app gets a token, and the API accepts its call"
        case .otherAuthorization: "A stolen token is useless with another user's Authorization"
        case .signedRequest: "The API refuses a signed request of which one byte was changed on the way"
        case .limitedUse: "A limited-use token is refused when it is used twice"
        case .secureString: "The app uses, at an API, a secret that is in none of the app's files"
        case .tokenRefresh: "An expired user token is refreshed once for a hundred waiting requests"
        case .logOut: "Logging out leaves nothing of the first user for the second"
        case .impostor: "A server with another key gets no byte of the request, although the app trusts its CA"
        case .unregisteredExecutable: "An app that was changed by one byte gets no token that the API accepts"
        case .oblivious: "With Oblivious HTTP neither relay nor gateway sees both the client's address and the request"
        case .rotatedPins: "A running app accepts a new pinned key of the API without a restart"
        case .restartOffline: "When the authority is down, a restarted app still checks pins"
        }
    }
}
