import Crypto
import HTTPTypes
import MessageSignatures
import Testing

@Suite struct MessageSignatureTests {
    private let key = SignatureSigningKey.ecdsaP256SHA256(P256.Signing.PrivateKey())

    private func sign(_ label: String, _ change: (inout SignatureParameters) -> Void = { _ in }) async throws -> MessageSignature {
        var parameters = SignatureParameters([.method])
        parameters.created = 1
        change(&parameters)
        return try await MessageSignature(signing: .request(request()), label: label, parameters: parameters, with: key)
    }

    @Test("Two signatures share the two fields, in the order in which they were added")
    func twoSignatures() async throws {
        var headers = fields(["Accept": "*/*"])
        let install = try await sign("install") { $0.algorithm = "ecdsa-p256-sha256" }
        let account = try await sign("account")
        try install.add(to: &headers)
        try account.add(to: &headers)
        #expect(headers.count == 3)
        #expect(
            headers[MessageSignature.inputFieldName]
                == #"install=("@method");created=1;alg="ecdsa-p256-sha256", account=("@method");created=1"#)
        #expect(headers[MessageSignature.fieldName] == "\(install.signatureMember), \(account.signatureMember)")
        #expect(code { try install.add(to: &headers) } == .duplicateName)
        var foreign = fields(["Signature-Input": "("])
        #expect(code { try install.add(to: &foreign) } == .malformedField)
        // The first field could take the signature, the second cannot: both stay as they were.
        for text in [install.signatureMember, "("] {
            let before = fields(["Signature": text])
            var half = before
            #expect(code { try install.add(to: &half) } != nil)
            #expect(half == before)
        }
    }

    @Test("Empty signature fields are replaced, because no verifier could read a signature behind them")
    func emptyFields() async throws {
        var headers = fields(["Signature-Input": "", "Signature": " "])
        let install = try await sign("install")
        try install.add(to: &headers)
        #expect(
            headers[MessageSignature.inputFieldName] == install.inputMember
                && headers[MessageSignature.fieldName] == install.signatureMember)
        var lines = HTTPFields()
        let mine = try await sign("mine")
        lines[values: MessageSignature.inputFieldName] = ["", mine.inputMember, "\t "]
        lines[values: MessageSignature.fieldName] = [" ", mine.signatureMember]
        try install.add(to: &lines)
        #expect(lines[values: MessageSignature.inputFieldName] == [mine.inputMember + ", " + install.inputMember])
        #expect(lines[values: MessageSignature.fieldName] == [mine.signatureMember + ", " + install.signatureMember])
    }

    @Test("An algorithm that is not the signer's and a label that cannot be written are refused")
    func bad() async throws {
        await #expect(throws: MessageSignatureError(.algorithmMismatch, "")) { try await sign("a") { $0.algorithm = "hmac-sha256" } }
        for label in ["", "A", "1", "a b", "a=", "é"] {
            await #expect(throws: MessageSignatureError(.invalidParameter, ""), "\(label)") { try await sign(label) }
        }
    }

    private struct FailingSigner: MessageSigner {
        let algorithm = SignatureAlgorithm.ed25519
        func sign(_ base: [UInt8]) async throws -> [UInt8] { throw CancellationError() }
    }

    @Test("A signer that fails leaves the message unsigned, and its error reaches the caller")
    func failingSigner() async throws {
        await #expect(throws: CancellationError.self) {
            try await MessageSignature(
                signing: .request(request()), label: "a", parameters: SignatureParameters([.method]), with: FailingSigner())
        }
    }
}
