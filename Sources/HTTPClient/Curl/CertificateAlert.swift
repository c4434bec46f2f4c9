/// The TLS alerts with which a server refuses a client without a certificate, or with one that it does not accept (RFC 8446, section 6.2).
enum CertificateAlert: UInt8 {
    case handshakeFailure = 40
    case badCertificate = 42
    case unsupportedCertificate = 43
    case certificateRevoked = 44
    case certificateExpired = 45
    case certificateUnknown = 46
    case unknownCA = 48
    case accessDenied = 49
    case certificateRequired = 116
}
