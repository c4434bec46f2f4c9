import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import MessageSignatures
import Testing

@testable import ApproovTokenCheck

@Suite struct SignatureCheckMiddlewareTests {
    private let app = SignedRequests()

    private typealias Check = SignatureCheckMiddleware<BasicSignatureCheckedRequestContext>

    private var accountCheck: Check {
        get throws { try Check(keys: .account(["j3AWy6": app.accountKey])) }
    }

    @Test("A signed request reaches the handler with its body, and the handler holds the verified signature")
    func passes() async throws {
        #expect(try await app.answer(app.fields()) == .init(status: 200, body: "install ", challenge: nil))
        let fields = try await app.fields("POST", "/a%2Fb/c?x=%20&&y", body: "an order", label: "any")
        #expect(
            try await app.answer(fields, "POST", "/a%2Fb/c?x=%20&&y", body: "an order")
                == .init(status: 200, body: "any an order", challenge: nil))
    }

    @Test("A request without a signature, or with one by another key, is refused, and the caller learns nothing")
    func refused() async throws {
        #expect(try await app.answer([SignedRequests.tokenName: try app.token()]) == .refused)
        let other = SignatureSigningKey.ecdsaP256SHA256(P256.Signing.PrivateKey())
        #expect(try await app.answer(app.fields(with: other)) == .refused)
        let lines = app.logs.lines.filter { $0.contains("signature refused") }
        #expect(lines.count == 2 && lines[0].contains("missingSignature") && lines[1].contains("invalidSignature"))
        #expect(try !lines.joined().contains(app.token()) && !lines.joined().contains("example"))
    }

    @Test("Another method, path, query, token or body than the signed one is refused")
    func changed() async throws {
        let fields = try await app.fields("POST", "/a?b=c", body: "an order")
        #expect(try await app.answer(fields, "POST", "/a?b=c", body: "an order").status == 200)
        #expect(try await app.answer(fields, "PUT", "/a?b=c", body: "an order") == .refused)
        #expect(try await app.answer(fields, "POST", "/A?b=c", body: "an order") == .refused)
        #expect(try await app.answer(fields, "POST", "/a?b=d", body: "an order") == .refused)
        #expect(try await app.answer(fields, "POST", "/a?b=c&", body: "an order") == .refused)
        #expect(try await app.answer(fields, "POST", "/%61?b=c", body: "an order") == .refused)
        #expect(try await app.answer(fields, "POST", "/a?b=c", body: "an Order") == .refused)
        #expect(try await app.answer(fields, "POST", "/a?b=c", body: "") == .refused)
        var otherToken = fields
        otherToken[SignedRequests.tokenName] = try app.token { $0.ip = "192.0.2.1" }
        #expect(try await app.answer(otherToken, "POST", "/a?b=c", body: "an order") == .refused)
    }

    @Test("A signature that does not cover method, target, token or a further component is refused")
    func coverage() async throws {
        let all = SignedRequests.components(hasBody: false)
        for missing in all.indices {
            let components = all.enumerated().filter { $0.offset != missing }.map(\.element)
            #expect(try await app.answer(app.fields(components: components)) == .refused)
        }
        #expect(try await app.answer(app.fields(), check: { try Check(alsoCovering: [.field(.authorization)]) }) == .refused)
        let more = try await app.fields(components: all + [.field(.authorization)], fields: [.authorization: "Bearer alice"])
        #expect(try await app.answer(more, check: { try Check(alsoCovering: [.field(.authorization)]) }).status == 200)
    }

    @Test(
        "An Authorization or Content-Type that the signature does not cover is refused",
        arguments: [HTTPField.Name.authorization, .contentType])
    func addedFields(name: HTTPField.Name) async throws {
        #expect(try await app.answer(app.fields(fields: [name: "text/plain"])) == .refused)
        let components = SignedRequests.components(hasBody: false) + [.field(name)]
        #expect(try await app.answer(app.fields(components: components, fields: [name: "text/plain"])).status == 200)
    }

    @Test("A field that must be covered where it is present may be absent, and is refused if the signature does not cover it")
    func coveredWherePresent() async throws {
        let make = { try Check(coveringWherePresent: [.cookie]) }
        #expect(try await app.answer(app.fields(), check: make).status == 200)
        let cookie: HTTPFields = [.cookie: "a=b"]
        #expect(try await app.answer(app.fields(fields: cookie)).status == 200)
        #expect(try await app.answer(app.fields(fields: cookie), check: make) == .refused)
        let components = SignedRequests.components(hasBody: false) + [.field(.cookie)]
        #expect(try await app.answer(app.fields(components: components, fields: cookie), check: make).status == 200)
    }

    @Test("A body needs a digest that is right and covered; so does a digest without a body")
    func digests() async throws {
        func answer(_ digest: String?, isCovered: Bool, body: String) async throws -> SignedRequests.Answer {
            var headers = HTTPFields()
            headers[ContentDigest.fieldName] = digest
            let fields = try await app.fields(
                "POST", "/a", components: SignedRequests.components(hasBody: isCovered), fields: headers)
            return try await app.answer(fields, "POST", "/a", body: body)
        }
        let right = ContentDigest(of: Array("body".utf8)).fieldValue
        #expect(try await answer(right, isCovered: true, body: "body").status == 200)
        #expect(try await answer(ContentDigest(of: Array("body".utf8), .sha512).fieldValue, isCovered: true, body: "body").status == 200)
        #expect(try await answer(ContentDigest(of: []).fieldValue, isCovered: true, body: "").status == 200)
        #expect(try await answer(right, isCovered: true, body: "Body") == .refused)
        #expect(try await answer(right, isCovered: true, body: "") == .refused)
        #expect(try await answer(right, isCovered: false, body: "body") == .refused)
        #expect(try await answer(right, isCovered: false, body: "") == .refused)
        #expect(try await answer(nil, isCovered: false, body: "body") == .refused)
        #expect(try await answer("md5=:AAAA:", isCovered: true, body: "body") == .refused)
        #expect(try await answer("\(right), x=:AAAA:", isCovered: true, body: "body") == .refused)
        #expect(try await answer(right.replacing(":", with: "\""), isCovered: true, body: "body") == .refused)
    }

    @Test("A body up to the limit passes, one byte more gets 413, and without a valid signature the body does not matter")
    func bodyLimit() async throws {
        let body = String(repeating: "b", count: 100)
        let fields = try await app.fields("POST", "/a", body: body)
        #expect(try await app.answer(fields, "POST", "/a", body: body, check: { try Check(bodyLimit: 100) }).status == 200)
        #expect(
            try await app.answer(fields, "POST", "/a", body: body, check: { try Check(bodyLimit: 99) })
                == .init(status: 413, body: "", challenge: nil))
        #expect(try await app.answer(fields, "POST", "/b", body: body, check: { try Check(bodyLimit: 99) }) == .refused)
    }

    @Test("`created` and expires are judged by the server's clock, within the configured bounds")
    func times() async throws {
        let fields = try await app.fields()
        let unlimited = try await app.fields { $0.expires = nil }
        app.clock.advance(by: .seconds(45))
        #expect(try await app.answer(fields).status == 200)
        #expect(try await app.answer(fields, check: { try Check(clockSkew: .seconds(29)) }) == .refused)
        app.clock.advance(by: .seconds(1))
        #expect(try await app.answer(fields) == .refused)
        app.clock.advance(by: .seconds(44))
        #expect(try await app.answer(unlimited).status == 200)
        app.clock.advance(by: .seconds(1))
        #expect(try await app.answer(unlimited) == .refused)
        #expect(try await app.answer(unlimited, check: { try Check(maximumAge: .seconds(61)) }).status == 200)
        let now = app.now
        #expect(try await app.answer(app.fields { $0.created = now + 31 }) == .refused)
        #expect(try await app.answer(app.fields { $0.created = nil }) == .refused)
    }

    @Test("A token without installation key, or with one that cannot be read, is refused, and never skips the check")
    func installationKeys() async throws {
        let other = P384.Signing.PrivateKey().publicKey.derRepresentation
        for ipk in [nil, "", "AAAA", "!", Base64.encode(other)] {
            #expect(try await app.answer(app.fields(token: try app.token { $0.ipk = ipk })) == .refused)
        }
        let codes = app.logs.lines.joined()
        #expect(codes.contains("missingInstallationKey") && codes.contains("malformedInstallationKey"))
    }

    @Test("With the account key that the token names, hmac-sha256 is verified")
    func accountKeys() async throws {
        let key = try SignatureSigningKey.hmacSHA256(app.accountKey)
        let fields = try await app.fields(algorithm: .hmacSHA256, with: key, label: "account")
        #expect(try await app.answer(fields, check: { try accountCheck }).status == 200)
        #expect(try await app.answer(fields, check: { try Check(keys: .account { $0 == "j3AWy6" ? app.accountKey : nil }) }).status == 200)
        #expect(try await app.answer(fields) == .refused)
        let named = try await app.fields(algorithm: .hmacSHA256, with: key) { $0.keyID = "j3AWy6" }
        #expect(try await app.answer(named, check: { try accountCheck }).status == 200)
        let misnamed = try await app.fields(algorithm: .hmacSHA256, with: key) { $0.keyID = "other" }
        #expect(try await app.answer(misnamed, check: { try accountCheck }) == .refused)
        for id in [nil, "", "other"] {
            let token = try app.token { $0.mskid = id }
            #expect(
                try await app.answer(app.fields(token: token, algorithm: .hmacSHA256, with: key), check: { try accountCheck }) == .refused)
        }
        #expect(try await app.answer(fields, check: { try Check(keys: .account { _ in [] }) }) == .refused)
        let other = try SignatureSigningKey.hmacSHA256(app.accountKey + [1])
        #expect(try await app.answer(app.fields(algorithm: .hmacSHA256, with: other), check: { try accountCheck }) == .refused)
    }

    @Test("A request with both signatures passes both checks, whatever the labels say")
    func both() async throws {
        let token = try app.token()
        var fields = try await app.fields(token: token, label: "account")
        let account = try await app.fields(
            token: token, algorithm: .hmacSHA256, with: try .hmacSHA256(app.accountKey), label: "install")
        for name in [MessageSignature.inputFieldName, MessageSignature.fieldName] {
            fields[name] = try #require(fields[name]) + ", " + #require(account[name])
        }
        #expect(try await app.answer(fields).body == "account ")
        #expect(try await app.answer(fields, check: { try accountCheck }).body == "install ")
    }

    @Test("With the superseded derived key, a signature verifies only where that is asked for")
    func derivedKey() async throws {
        let secret = Array(UInt8(0)...15)
        let claims = TokenClaims(exp: app.now + 300, did: "AAECAwQFBgcICQoLDA0ODw==")
        let key = try SignatureSigningKey.hmacSHA256(#require(SignatureKeySource.derivedKey(from: secret, claims: claims)))
        let derived = { try Check(keys: .supersededDerivedAccountKey(baseSecret: secret)) }
        let fields = try await app.fields(algorithm: .hmacSHA256, with: key)
        #expect(try await app.answer(fields, check: derived).status == 200)
        #expect(try await app.answer(fields, check: { try Check(keys: .account(["j3AWy6": secret])) }) == .refused)
        let nameless = try app.token { $0.did = nil }
        #expect(try await app.answer(app.fields(token: nameless, algorithm: .hmacSHA256, with: key), check: derived) == .refused)
    }

    @Test("Behind a proxy the public URL counts, and no forwarding header does")
    func publicURL() async throws {
        let fields = try await app.fields(origin: "https://api.example.com:8443")
        for url in ["https://api.example.com:8443", "https://API.example.com:8443/"] {
            #expect(try await app.answer(fields, check: { try Check(publicURL: url) }).status == 200)
        }
        #expect(try await app.answer(fields) == .refused)
        for url in [
            "https://api.example.com", "http://api.example.com:8443", "https://other.example.com:8443", "https://api.example.com:8443/v1",
        ] {
            #expect(try await app.answer(fields, check: { try Check(publicURL: url) }) == .refused)
        }
        var forwarded = fields
        forwarded[try #require(HTTPField.Name("X-Forwarded-Host"))] = "api.example.com:8443"
        forwarded[try #require(HTTPField.Name("X-Forwarded-Proto"))] = "https"
        forwarded[try #require(HTTPField.Name("Forwarded"))] = "host=\"api.example.com:8443\";proto=https"
        #expect(try await app.answer(forwarded) == .refused)
        let prefixed = try await app.fields(origin: "https://api.example.com/v1")
        #expect(try await app.answer(prefixed, check: { try Check(publicURL: "https://api.example.com/v1/") }).status == 200)
    }

    @Test("Signatures that are strings, as the original's OkHttp layer sends them, pass only when they are allowed")
    func strings() async throws {
        var fields = HTTPFields()
        fields[ContentDigest.fieldName] = ContentDigest(of: Array("body".utf8)).fieldValue.replacing(":", with: "\"")
        fields = try await app.fields("POST", "/a", body: "body", fields: fields)
        fields[MessageSignature.fieldName] = fields[MessageSignature.fieldName]?.replacing(":", with: "\"")
        #expect(try await app.answer(fields, "POST", "/a", body: "body") == .refused)
        let check = { try Check(acceptsStringSignatures: true) }
        #expect(try await app.answer(fields, "POST", "/a", body: "body", check: check).status == 200)
        #expect(try await app.answer(fields, "POST", "/a", body: "Body", check: check) == .refused)
    }

    @Test("Settings that cannot work are refused")
    func settings() async {
        for url in ["", "api.example.com", "ftp://api.example.com", "https://api.example.com?a", "https://a@api.example.com"] {
            await refuses(.invalidConfiguration) { _ = try Check(publicURL: url) }
        }
        await refuses(.invalidConfiguration) { _ = try Check(header: "no name") }
        await refuses(.invalidConfiguration) { _ = try Check(maximumAge: .seconds(-1)) }
        await refuses(.invalidConfiguration) { _ = try Check(clockSkew: .seconds(-1)) }
        await refuses(.invalidConfiguration) { _ = try Check(bodyLimit: -1) }
        await refuses(.invalidConfiguration) { _ = try Check(keys: .supersededDerivedAccountKey(baseSecret: [1])) }
        let key = [UInt8](repeating: 1, count: 16)
        await refuses(.invalidConfiguration) { _ = try Check(keys: .account(["a": key, "b": [UInt8](repeating: 1, count: 15)])) }
        #expect(throws: Never.self) { try Check(keys: .account(["a": key])) }
    }

    @Test("Without a token check before it, the check answers no request")
    func order() async throws {
        let router = Router(context: BasicSignatureCheckedRequestContext.self)
        router.add(middleware: try Check())
        router.get("shapes") { _, _ in "reached" }
        try await Application(router: router, logger: app.logs.logger).test(.router) { client in
            try await client.execute(uri: "/shapes", method: .get) {
                #expect($0.status == .internalServerError && $0.body.readableBytes == 0)
            }
        }
    }
}
