/// A certificate of a validated path with its issuer, which decides about its revocation.
struct IssuedCertificate {
    let certificate: Certificate
    let issuer: Certificate
}
