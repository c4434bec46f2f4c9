import Approov
import CertificatePinning
import HTTPClient

extension Error {
    /// The refusal of a server's certificate or pins that caused an error.
    var trustRefusal: TrustRefusal? {
        switch self {
        case let refusal as TrustRefusal: refusal
        case let error as TransportError: error.refusal
        case let error as ApproovError: error.cause?.trustRefusal
        default: nil
        }
    }

    /// Whether an error says that no certificate path can end in a root: there is none, or none is valid now.
    var meansNoAnchors: Bool {
        switch self {
        case let error as PinningError: [.noAnchors, .expiredAnchors, .anchorsNotYetValid].contains(error.code)
        case let error as ApproovError: error.cause?.meansNoAnchors ?? false
        default: false
        }
    }
}
