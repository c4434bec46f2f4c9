import CertificatePinning
import Foundation

func verdict(onPEM chain: String, from host: String, roots: String, pins: [String]) throws -> Result<ServerTrust, TrustRefusal> {
    let rule = TrustRule(evaluators: [try PublicKeysTrustEvaluator(pins: Pin.list(pins))])
    return ChainValidator.evaluate(
        chain: try Certificate.all(inPEM: chain), host: try CanonicalHost(host), rule: rule,
        defaultAnchors: try TrustAnchors(pem: roots), time: Date())
}
