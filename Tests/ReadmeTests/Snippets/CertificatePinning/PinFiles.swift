import CertificatePinning

func evaluator(server: String, backup: String) throws -> PublicKeysTrustEvaluator {
    let pins = try PublicKeyFile.pins(inFile: server) + PublicKeyFile.pins(inFile: backup)
    return try PublicKeysTrustEvaluator(pins: Set(pins))
}
