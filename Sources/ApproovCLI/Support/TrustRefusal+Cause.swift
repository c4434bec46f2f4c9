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
}
