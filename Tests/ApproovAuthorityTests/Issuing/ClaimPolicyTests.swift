import Attestation
import Testing

@testable import ApproovAuthority

@Suite struct ClaimPolicyTests {
    private let standard = ClaimPolicy(audience: true, issuer: false, subject: false, installationKey: true)
    private let claims = TokenClaims(exp: 5, did: "did", arc: "arc", iss: "iss", aud: "aud", ipk: "ipk", anno: ["a"], jti: "jti")

    @Test("A new account's tokens have audience and installation key, and neither issuer nor subject")
    func ofNewAccount() {
        #expect(
            standard.applied(to: claims)
                == TokenClaims(exp: 5, did: "did", arc: "arc", aud: "aud", ipk: "ipk", anno: ["a"], jti: "jti"))
    }

    @Test("Each switch adds or removes its claim and no other", arguments: [true, false])
    func switches(isOn: Bool) {
        var policy = standard
        (policy.audience, policy.issuer, policy.subject, policy.installationKey) = (isOn, isOn, isOn, isOn)
        let expected = TokenClaims(
            exp: 5, did: "did", arc: "arc", iss: isOn ? "iss" : nil, aud: isOn ? "aud" : nil, ipk: isOn ? "ipk" : nil, anno: ["a"],
            sub: isOn ? "approov|did" : nil, jti: "jti")
        #expect(policy.applied(to: claims) == expected)
    }

    @Test("A token that names no device has no subject, whatever the claims said")
    func noDevice() {
        var policy = standard
        policy.subject = true
        #expect(policy.applied(to: TokenClaims(exp: 5, sub: "other")).sub == nil)
        #expect(standard.applied(to: TokenClaims(exp: 5, did: "did", sub: "other")).sub == nil)
    }
}
