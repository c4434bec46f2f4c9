import ApproovTesting
import Crypto
import Foundation
import HTTPTypes
import MessageSignatures
import Testing

@Suite struct SignatureVerifierTests {
    private let clock = ManualClock()
    private let installation = P256.Signing.PrivateKey()
    private let secret = [UInt8](repeating: 9, count: 32)

    private var now: Int64 { Int64(clock.date.timeIntervalSince1970) }

    /// The signature's parameters, as the client of this package sets them.
    private func parameters(
        _ algorithm: SignatureAlgorithm? = .ecdsaP256SHA256, _ components: [SignatureComponent] = [.method, .targetURI]
    ) -> SignatureParameters {
        var parameters = SignatureParameters(components)
        parameters.algorithm = algorithm?.rawValue
        parameters.created = now
        parameters.expires = now + 15
        return parameters
    }

    private func signed(
        _ request: SignableRequest, label: String = "install", _ parameters: SignatureParameters, with key: SignatureSigningKey? = nil
    ) async throws -> SignableRequest {
        var request = request
        try await MessageSignature(
            signing: .request(request), label: label, parameters: parameters, with: key ?? SignatureSigningKey.ecdsaP256SHA256(installation)
        ).add(to: &request.fields)
        return request
    }

    private func verifier(
        _ keys: [SignatureVerificationKey]? = nil, _ change: (inout SignatureRequirements) -> Void = { _ in }
    ) -> SignatureVerifier {
        var requirements = SignatureRequirements(covering: [.method, .targetURI])
        change(&requirements)
        return SignatureVerifier(keys: keys ?? [.ecdsaP256SHA256(installation.publicKey)], requirements: requirements, time: clock)
    }

    private func refusal(_ request: SignableRequest, _ verifier: SignatureVerifier? = nil) -> MessageSignatureError.Code? {
        code { _ = try (verifier ?? self.verifier()).verify(.request(request)) }
    }

    /// A request with signature fields of the caller's choice; the signature is none of the key's.
    private func raw(_ input: String, signature: String? = nil) throws -> SignableRequest {
        let bytes = Base64.encode([UInt8](repeating: 1, count: 64))
        return try request("GET", "https://example.com/", ["Signature-Input": input, "Signature": signature ?? "a=:\(bytes):"])
    }

    @Test("A request that this module signed verifies, and the result names the covered components")
    func verifies() async throws {
        let request = try await signed(request(), label: "any.label", parameters())
        let verified = try verifier().verify(.request(request))
        #expect(verified.label == "any.label" && verified.algorithm == .ecdsaP256SHA256 && verified.keyID == nil)
        #expect(verified.covers(.targetURI) && !verified.covers(.field(.contentType)))
        #expect(verified.parameters == parameters())
    }

    @Test("A response verifies together with the request that it answers")
    func responses() async throws {
        let request = try request()
        var response = try SignableResponse(status: 200, fields: [:], answering: request)
        let parameters = parameters(.ecdsaP256SHA256, [.status, .targetURI.ofRequest])
        try await MessageSignature(
            signing: .response(response), label: "r", parameters: parameters, with: SignatureSigningKey.ecdsaP256SHA256(installation)
        ).add(to: &response.fields)
        let verifier = verifier { $0.components = [.status, .targetURI.ofRequest] }
        #expect(try verifier.verify(.response(response)).covers(.status))
        response.request = try MessageSignaturesTests.request("POST", "https://api.example.com/other")
        #expect(code { _ = try verifier.verify(.response(response)) } == .invalidSignature)
    }

    @Test("What was changed after signing does not verify")
    func changed() async throws {
        let components: [SignatureComponent] = [.method, .targetURI, .field(.contentType), .field(.contentLength)]
        let lines: KeyValuePairs = ["Content-Type": "text/plain", "Content-Length": "18"]
        let request = try await signed(request("POST", "https://api.example.com/a?b=c", lines), parameters(.ecdsaP256SHA256, components))
        #expect(refusal(request) == nil)
        let other = [
            try SignableRequest(method: "PUT", target: request.target, fields: request.fields),
            try SignableRequest(method: "post", target: request.target, fields: request.fields),
            try SignableRequest(method: "POST", target: TargetURI("https://api.example.com/a?b=d"), fields: request.fields),
            try SignableRequest(method: "POST", target: TargetURI("https://api.example.com/a?b=c&"), fields: request.fields),
            try SignableRequest(method: "POST", target: TargetURI("https://api.example.com:8443/a?b=c"), fields: request.fields),
            try SignableRequest(method: "POST", target: TargetURI("http://api.example.com/a?b=c"), fields: request.fields),
        ]
        for request in other { #expect(refusal(request) == .invalidSignature) }
        var typed = request
        typed.fields[.contentType] = "text/html"
        #expect(refusal(typed) == .invalidSignature)
        var repeated = request
        repeated.fields.append(HTTPField(name: .contentType, value: "text/plain"))
        #expect(refusal(repeated) == .invalidSignature)
        // A proxy that decompresses or re-encodes changes the length: the signature no longer fits, whatever the proxy meant.
        var resized = request
        resized.fields[.contentLength] = "19"
        #expect(refusal(resized) == .invalidSignature)
        var removed = request
        removed.fields[.contentLength] = nil
        #expect(refusal(removed) == .missingComponent)
    }

    @Test("A client's Signature-Base-Digest tells another base from another key, and makes no signature valid")
    func debugDigest() async throws {
        var request = try await signed(request(), parameters())
        request.fields[SignatureBase.debugFieldName] = try SignatureBase(.request(request), parameters: parameters()).debugDigest
        #expect(refusal(request) == nil)
        func message(_ request: SignableRequest, _ keys: [SignatureVerificationKey]? = nil) -> String {
            do {
                _ = try verifier(keys).verify(.request(request))
                return ""
            } catch {
                return error.code == .invalidSignature ? error.message : ""
            }
        }
        #expect(message(request, [.ecdsaP256SHA256(P256.Signing.PrivateKey().publicKey)]).contains("their keys differ"))
        let other = try SignableRequest(method: "PUT", target: request.target, fields: request.fields)
        #expect(message(other).contains("the value of a covered component differs"))
        // With two signatures the client sends two digests, on two lines or, after a proxy, on one.
        let digest = try #require(request.fields[SignatureBase.debugFieldName])
        for lines in [["sha-256=:AAAA:", digest], ["sha-256=:AAAA:, \(digest)"]] {
            request.fields[values: SignatureBase.debugFieldName] = lines
            #expect(message(request, [.ecdsaP256SHA256(P256.Signing.PrivateKey().publicKey)]).contains("their keys differ"))
        }
    }

    @Test("A field whose lines a proxy joined or split at the comma verifies, in the same order only")
    func multiLineFields() async throws {
        let components: [SignatureComponent] = [.method, .targetURI, .field(.accept)]
        let request = try await signed(
            request("GET", "https://example.com/", ["Accept": "text/plain", "Accept": "*/*"]), parameters(.ecdsaP256SHA256, components))
        #expect(refusal(request) == nil)
        var joined = request
        joined.fields[.accept] = "text/plain, */*"
        #expect(refusal(joined) == nil)
        var swapped = request
        swapped.fields[values: .accept] = ["*/*", "text/plain"]
        #expect(refusal(swapped) == .invalidSignature)
        var tight = request
        tight.fields[.accept] = "text/plain,*/*"
        #expect(refusal(tight) == .invalidSignature)
    }

    @Test("Cookies that HTTP/2 split verify, and a cookie that was split at a comma in its value does not")
    func cookieLines() async throws {
        let components: [SignatureComponent] = [.method, .targetURI, .field(.cookie)]
        for (signedLines, sentLines, isSame) in [
            (["a=1; b=2"], ["a=1", "b=2"], true), (["a=1", "b=2"], ["a=1; b=2"], true),
            (["pref=x, role=admin"], ["pref=x", "role=admin"], false), (["a=1", "role=user"], ["a=1, role=user"], false),
        ] {
            var request = try request("GET", "https://example.com/", [:])
            for line in signedLines { request.fields.append(HTTPField(name: .cookie, value: line)) }
            var sent = try await signed(request, parameters(.ecdsaP256SHA256, components))
            sent.fields.removeAll { $0.name == .cookie }
            for line in sentLines { sent.fields.append(HTTPField(name: .cookie, value: line)) }
            #expect(refusal(sent) == (isSame ? nil : .invalidSignature), "\(signedLines) \(sentLines)")
        }
    }

    @Test("A covered structured field with thousands of keys is refused, before the signature is checked and before one is made")
    func manyKeys() async throws {
        let covered = #"a=("@method" "@target-uri" "priority";sf);created=\#(now)"#
        var request = try raw(covered)
        request.fields[.priority] = "u=1"
        // With fewer keys, the signature itself is what the verifier refuses.
        #expect(refusal(request) == .invalidSignature)
        request.fields[.priority] = (0..<3_000).map { "k\($0)" }.joined(separator: ",")
        for parameter in ["sf", #"key="k0""#] {
            request.fields[MessageSignature.inputFieldName] = covered.replacing(";sf", with: ";" + parameter)
            #expect(refusal(request) == .malformedField, "\(parameter)")
        }
        for parameter in [SignatureComponent.Parameter.structured, .key("k0")] {
            let parameters = parameters(.ecdsaP256SHA256, [.method, try SignatureComponent("priority", [parameter])])
            await #expect(throws: MessageSignatureError(.malformedField, "")) { try await signed(request, parameters) }
        }
    }

    @Test("Of two signatures the one of the key is chosen, whatever the labels are")
    func twoSignatures() async throws {
        var request = try await signed(request(), label: "account", parameters())
        request = try await signed(request, label: "install", parameters(.hmacSHA256), with: try .hmacSHA256(secret))
        #expect(try verifier().verify(.request(request)).label == "account")
        let account = verifier([try .hmacSHA256(secret, id: "abc")])
        #expect(try account.verify(.request(request)).label == "install")
        #expect(refusal(request, verifier([.ecdsaP256SHA256(P256.Signing.PrivateKey().publicKey)])) == .invalidSignature)
    }

    @Test("Two signatures that could both be the key's are refused, although one of them verifies")
    func ambiguous() async throws {
        var request = try await signed(request(), label: "a", parameters())
        let other = P256.Signing.PrivateKey()
        request = try await signed(request, label: "b", parameters(), with: .ecdsaP256SHA256(other))
        #expect(refusal(request) == .ambiguousSignature)
        let both: [SignatureVerificationKey] = [.ecdsaP256SHA256(installation.publicKey), try .hmacSHA256(secret)]
        #expect(refusal(try await signed(try MessageSignaturesTests.request(), parameters(nil)), verifier(both)) == .ambiguousSignature)
        #expect(refusal(try await signed(try MessageSignaturesTests.request(), parameters()), verifier(both)) == nil)
    }

    @Test("The key ID chooses among keys, and one of no known key is refused")
    func keyIDs() async throws {
        let other = P256.Signing.PrivateKey()
        let keys: [SignatureVerificationKey] = [
            .ecdsaP256SHA256(other.publicKey, id: "other"), .ecdsaP256SHA256(installation.publicKey, id: "mine"),
        ]
        var named = parameters()
        named.keyID = "mine"
        let request = try await signed(request(), named)
        #expect(try verifier(keys).verify(.request(request)).keyID == "mine")
        named.keyID = "other"
        #expect(refusal(try await signed(MessageSignaturesTests.request(), named), verifier(keys)) == .invalidSignature)
        named.keyID = "third"
        #expect(refusal(try await signed(MessageSignaturesTests.request(), named), verifier(keys)) == .noMatchingSignature)
        #expect(refusal(try await signed(MessageSignaturesTests.request(), parameters()), verifier(keys)) == .ambiguousSignature)
    }

    @Test("The tag must be the required one, and without a requirement there must be none")
    func tags() async throws {
        var tagged = parameters()
        tagged.tag = "payments"
        let request = try await signed(request(), tagged)
        #expect(refusal(request, verifier { $0.tag = "payments" }) == nil)
        #expect(refusal(request, verifier { $0.tag = "other" }) == .noMatchingSignature)
        #expect(refusal(request) == .noMatchingSignature)
        #expect(
            refusal(try await signed(MessageSignaturesTests.request(), parameters()), verifier { $0.tag = "payments" })
                == .noMatchingSignature)
    }

    @Test("An algorithm that is not the key's is refused, also an unknown one, and none is the key's own")
    func algorithms() async throws {
        #expect(refusal(try raw(#"a=("@method");created=\#(now);alg="hmac-sha256""#)) == .algorithmMismatch)
        #expect(refusal(try raw(#"a=("@method");created=\#(now);alg="none""#)) == .algorithmMismatch)
        #expect(refusal(try raw(#"a=("@method");created=\#(now);alg="ECDSA-P256-SHA256""#)) == .algorithmMismatch)
        #expect(refusal(try raw(#"a=("@method");created=\#(now);alg=ecdsa-p256-sha256"#)) == .algorithmMismatch)
        let request = try await signed(request(), parameters(nil))
        #expect(refusal(request) == nil)
        #expect(refusal(request, verifier { $0.requiresAlgorithm = true }) == .missingParameter)
    }

    @Test("Unknown parameters of the signature and of components are refused, and duplicates of both")
    func unknownAndDuplicate() throws {
        let covered = #"("@method" "@target-uri")"#
        let cases: [(String, MessageSignatureError.Code)] = [
            ("a=\(covered);created=\(now);x=1", .unknownParameter), ("a=\(covered);created=\(now);Nonce=1", .malformedField),
            ("a=\(covered);created=\(now);created=\(now)", .duplicateName), ("a=\(covered);created=\"\(now)\"", .malformedField),
            ("a=\(covered);created=-1", .malformedField), ("a=\(covered);created=\(now).5", .malformedField),
            ("a=\(covered);created=\(now);nonce=5", .malformedField), ("a=\(covered);created=\(now);keyid=x", .noMatchingSignature),
            ("a=\(covered);created=\(now);tag=x", .noMatchingSignature),
            (#"a=("@method" "@target-uri" "@method");created=\#(now)"#, .duplicateComponent),
            (#"a=("@method" "@target-uri" "@x");created=\#(now)"#, .invalidComponent),
            (#"a=("@method" "@target-uri" "Accept");created=\#(now)"#, .invalidComponent),
            (#"a=("@method" "@target-uri" "@signature-params");created=\#(now)"#, .invalidComponent),
            (#"a=("@method";x "@target-uri");created=\#(now)"#, .invalidComponent),
            (#"a=("@method";req=?0 "@target-uri");created=\#(now)"#, .invalidComponent),
            (#"a=("accept";key=1 "@target-uri");created=\#(now)"#, .invalidComponent),
            (#"a=(method "@target-uri");created=\#(now)"#, .malformedField),
        ]
        for (input, expected) in cases { #expect(refusal(try raw(input)) == expected, "\(input)") }
    }

    @Test("Duplicate labels, fields that do not belong together, and signatures that are no byte sequence are refused")
    func fieldShapes() throws {
        let covered = #"("@method" "@target-uri");created=\#(now)"#
        let bytes = ":" + Base64.encode([UInt8](repeating: 1, count: 64)) + ":"
        let cases: [(String, String, MessageSignatureError.Code)] = [
            ("a=\(covered), a=\(covered)", "a=\(bytes)", .duplicateName), ("a=\(covered)", "a=\(bytes), a=\(bytes)", .duplicateName),
            ("a=\(covered)", "b=\(bytes)", .malformedField), ("a=\(covered)", "a=\(bytes), b=\(bytes)", .malformedField),
            ("a=\(covered), b=\(covered)", "a=\(bytes)", .malformedField), ("a", "a=\(bytes)", .malformedField),
            ("a=\"x\"", "a=\(bytes)", .malformedField), ("a=\(covered)", "a=(\(bytes))", .malformedField),
            ("a=\(covered)", "a=\(bytes);x", .malformedField), ("a=\(covered)", "a=\"AAAA\"", .malformedField),
            ("a=\(covered)", "a", .malformedField),
            ("a=\(covered)", "a=::", .invalidSignature), ("a=\(covered)", "a=\(bytes)", .invalidSignature), ("", "", .missingSignature),
            ("a=\(covered)", "x", .malformedField), ("a=(", "a=\(bytes)", .malformedField),
        ]
        for (input, signature, expected) in cases {
            #expect(refusal(try raw(input, signature: signature)) == expected, "\(input) \(signature)")
        }
        #expect(refusal(try request()) == .missingSignature)
        #expect(refusal(try request("GET", "https://example.com/", ["Signature": "a=\(bytes)"])) == .missingSignature)
        #expect(refusal(try request("GET", "https://example.com/", ["Signature-Input": "a=\(covered)"])) == .missingSignature)
        let twice = ["Signature-Input": "a=\(covered)", "Signature-Input": "a=\(covered)", "Signature": "a=\(bytes)"] as KeyValuePairs
        #expect(refusal(try request("GET", "https://example.com/", twice)) == .duplicateName)
        let long = "a=\(covered);nonce=\"" + String(repeating: "n", count: 17_000) + "\""
        #expect(refusal(try raw(long)) == .malformedField)
    }

    @Test("Spaces that a proxy may add to Signature-Input do not matter, and the fields may have several lines")
    func spaces() async throws {
        var request = try await signed(request(), parameters())
        let input = try #require(request.fields[MessageSignature.inputFieldName])
        request.fields[MessageSignature.inputFieldName] = input.replacing("(", with: "(  ").replacing(";", with: ";  ").replacing(
            " \"@t", with: "   \"@t")
        #expect(refusal(request) == nil)
        request.fields.append(
            HTTPField(name: MessageSignature.inputFieldName, value: "proxy=(\"@method\");via=proxy;keyid=\"p\";alg=\"x\""))
        request.fields.append(HTTPField(name: MessageSignature.fieldName, value: "proxy=:AAAA:"))
        #expect(refusal(request) == nil)
    }

    @Test("Whatever is changed in the signature fields, a signature that still verifies says what was signed")
    func randomChanges() async throws {
        let request = try await signed(request(), parameters())
        let verifier = verifier()
        let input = Array(try #require(request.fields[MessageSignature.inputFieldName]).utf8)
        let signature = Array(try #require(request.fields[MessageSignature.fieldName]).utf8)
        let bytes = Array("abAB01/+=:;,\"\\()?@ \t".utf8) + [0x80]
        var generator = SeededGenerator()
        var refused = 0
        for _ in 0..<1_000 {
            var changed = request
            changed.fields[fields: MessageSignature.inputFieldName] = [
                HTTPField(name: MessageSignature.inputFieldName, lenientValue: generator.edited(input, count: 2, with: bytes))
            ]
            changed.fields[fields: MessageSignature.fieldName] = [
                HTTPField(name: MessageSignature.fieldName, lenientValue: generator.edited(signature, count: 1, with: bytes))
            ]
            do {
                #expect(try verifier.verify(.request(changed)).parameters == parameters())
            } catch {
                refused += 1
            }
        }
        #expect(refused > 500)
    }

    @Test("A string with base64 is a signature only when that is allowed")
    func strings() async throws {
        var request = try await signed(request(), parameters())
        let signature = try #require(request.fields[MessageSignature.fieldName])
        request.fields[MessageSignature.fieldName] = signature.replacing(":", with: "\"")
        #expect(refusal(request) == .malformedField)
        #expect(refusal(request, verifier { $0.acceptsStringSignatures = true }) == nil)
        request.fields[MessageSignature.fieldName] = "install=\"%\""
        #expect(refusal(request, verifier { $0.acceptsStringSignatures = true }) == .malformedField)
    }

    @Test("Missing coverage is refused, and @query is not @query-param, nor a field its digest or its bytes")
    func coverage() async throws {
        let request = try await signed(
            request("GET", "https://example.com/?a=1", ["X": "1"]),
            parameters(.ecdsaP256SHA256, [.method, .queryParameter("a"), SignatureComponent("x", [.bytes])]))
        for component in [SignatureComponent.query, .targetURI, .queryParameter("b"), try SignatureComponent("x"), .method.ofRequest] {
            #expect(refusal(request, verifier { $0.components = [component] }) == .insufficientCoverage, "\(component)")
        }
        #expect(refusal(request, verifier { $0.components = [.queryParameter("a"), .method] }) == nil)
        let whole = try await signed(
            MessageSignaturesTests.request("GET", "https://example.com/?a=1"), parameters(.ecdsaP256SHA256, [.query]))
        #expect(refusal(whole, verifier { $0.components = [.queryParameter("a")] }) == .insufficientCoverage)
    }

    @Test("`created` and expires bound the time in which a signature is valid")
    func times() async throws {
        let request = try await signed(request(), parameters())
        clock.advance(by: .seconds(15 + 30))
        #expect(refusal(request) == nil)
        clock.advance(by: .seconds(1))
        #expect(refusal(request) == .expired)
        var early = parameters()
        early.created = now + 31
        early.expires = nil
        #expect(refusal(try await signed(MessageSignaturesTests.request(), early)) == .createdInFuture)
        early.created = now + 30
        #expect(refusal(try await signed(MessageSignaturesTests.request(), early)) == nil)
        var old = parameters()
        old.expires = now + 1_000
        old.created = now - 90
        #expect(refusal(try await signed(MessageSignaturesTests.request(), old)) == nil)
        old.created = now - 91
        #expect(refusal(try await signed(MessageSignaturesTests.request(), old)) == .tooOld)
        var reversed = parameters()
        reversed.expires = now - 1
        #expect(refusal(try await signed(MessageSignaturesTests.request(), reversed)) == .expired)
    }

    @Test("Bounds that are as good as none do not overflow")
    func longTimes() async throws {
        var old = parameters()
        old.created = 0
        old.expires = 999_999_999_999_999
        let endless = verifier {
            $0.maximumAge = .seconds(Int64.max)
            $0.clockSkew = .seconds(Int64.max)
        }
        #expect(refusal(try await signed(request(), old), endless) == nil)
        old.created = 999_999_999_999_999
        #expect(refusal(try await signed(request(), old), endless) == .createdInFuture)
    }

    @Test("`created` must be there; expires and a nonce only when they are required")
    func requiredParameters() async throws {
        var bare = parameters()
        bare.created = nil
        #expect(refusal(try await signed(request(), bare)) == .missingParameter)
        bare.created = now
        bare.expires = nil
        let request = try await signed(request(), bare)
        #expect(refusal(request) == nil)
        #expect(refusal(request, verifier { $0.requiresExpires = true }) == .missingParameter)
        #expect(refusal(request, verifier { $0.requiresNonce = true }) == .missingParameter)
    }
}
