enum AttestationPlaceholder {}
