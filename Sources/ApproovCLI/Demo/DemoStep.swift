/// A step of the demo; the cases are in the order in which the steps run.
enum DemoStep: String, CaseIterable {
    case start
    case attestedCall = "attested-call"
    case otherAuthorization = "other-authorization"
    case impostor
    case unregisteredExecutable = "unregistered-executable"
    case oblivious
    case rotatedPins = "rotated-pins"
    case restartOffline = "restart-offline"

    /// What the step proves when it holds, in words for a reader who has never seen the system.
    var claim: String {
        switch self {
        case .start: "Everything runs on this machine, each server with TLS"
        case .attestedCall: "A registered app gets a token, and the API answers its call"
        case .otherAuthorization: "A stolen token is of no use with another user's Authorization"
        case .impostor: "A server with another key gets no byte, although the app trusts its CA"
        case .unregisteredExecutable: "An app that was changed by one byte gets no token that the API takes"
        case .oblivious: "Over Oblivious HTTP no server sees both the caller and the content"
        case .rotatedPins: "A running app follows a change of the API's key without a restart"
        case .restartOffline: "Without the authority, an app that starts again is still pinned"
        }
    }
}
