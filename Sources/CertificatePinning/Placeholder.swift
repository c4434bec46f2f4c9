enum CertificatePinningPlaceholder {}
