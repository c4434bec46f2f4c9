import ApproovServer
import ApproovTesting
import Attestation
import HTTPTypes
import MessageSignatures
import Testing

extension NameUse {
    static let signatures: [NameUse] = [
        NameUse(
            "components @method, @target-uri, approov-token, approov-traceid, authorization, content-length, content-type, content-digest"
        ) { (_) async throws in
            let components = [
                SignatureComponent.method, SignatureComponent.targetURI, SignatureComponent.field(.approovToken),
                SignatureComponent.contentDigest,
            ]
            #expect(components.map(\.name) == ["@method", "@target-uri", "approov-token", "content-digest"])
        },
        NameUse("parameters alg, created, expires, keyid, nonce, tag") { (_) async throws in
            var parameters = SignatureParameters([])
            parameters.algorithm = "hmac-sha256"
            (parameters.created, parameters.expires) = (1, 16)
            (parameters.keyID, parameters.nonce, parameters.tag) = ("k", "n", "t")
            let request = try SignableRequest(method: "GET", target: TargetURI("https://api.test/"), fields: [:])
            #expect(
                try SignatureBase(.request(request), parameters: parameters).signatureParameters
                    == #"();alg="hmac-sha256";created=1;expires=16;keyid="k";nonce="n";tag="t""#)
        },
        NameUse("Signature-Input, Signature") { (_) async throws in
            #expect(MessageSignature.inputFieldName.canonicalName == "signature-input")
            #expect(MessageSignature.fieldName.canonicalName == "signature")
        },
        NameUse("label install, ecdsa-p256-sha256") { (_) async throws in
            #expect(SignatureAlgorithm.ecdsaP256SHA256.rawValue == "ecdsa-p256-sha256")
        },
        NameUse("label account, hmac-sha256") { (_) async throws in #expect(SignatureAlgorithm.hmacSHA256.rawValue == "hmac-sha256") },
        NameUse("derived account key") { (_) async throws in
            let keys = SignatureKeySource.supersededDerivedAccountKey(baseSecret: [UInt8](repeating: 1, count: 16))
            _ = try SignatureCheckMiddleware<BasicSignatureCheckedRequestContext>(keys: keys)
        },
        NameUse("Content-Digest") { (_) async throws in #expect(ContentDigest.fieldName.canonicalName == "content-digest") },
        NameUse("Signature-Base-Digest") { (_) async throws in
            #expect(SignatureBase.debugFieldName.canonicalName == "signature-base-digest")
        },
        NameUse("MessageSigning check of a backend") { (_) async throws in
            _ = try SignatureCheckMiddleware<BasicSignatureCheckedRequestContext>(publicURL: "https://api.test")
        },
    ]

    static let claims: [NameUse] = [
        NameUse("exp, iat") { (_) async throws in _ = (\TokenClaims.exp, \TokenClaims.iat) },
        NameUse("did, ip") { (_) async throws in _ = (\TokenClaims.did, \TokenClaims.ip) },
        NameUse("arc") { (_) async throws in _ = \TokenClaims.arc },
        NameUse("pay") { (_) async throws in _ = \TokenClaims.pay },
        NameUse("anno") { (_) async throws in _ = \TokenClaims.anno },
        NameUse("jti") { (_) async throws in _ = \TokenClaims.jti },
        NameUse("ipk, mskid") { (_) async throws in _ = (\TokenClaims.ipk, \TokenClaims.mskid) },
        NameUse("iss, aud, sub") { (_) async throws in _ = (\TokenClaims.iss, \TokenClaims.aud, \TokenClaims.sub) },
    ]
}
