import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import CertificatePinning
import Crypto
import Foundation
import HTTPClient
import TestTags
import Testing

@Suite("approov customjwt", .tags(.processes, .sockets), .timeLimit(.minutes(5)))
struct CustomJWTCommandTests {
    private let folder: TemporaryFolder
    private let data: String

    init() throws {
        folder = try TemporaryFolder()
        data = folder.path("data")
    }

    private func approov(_ arguments: String...) async throws -> ChildProcess.Run {
        try await Approov.run(arguments + ["--data", data])
    }

    @Test("The command shows that custom JWTs are off at first, then the setting and the keyset that signs")
    func shown() async throws {
        let missing = try await approov("customjwt")
        #expect(missing.exitCode == 1 && missing.errors.contains("there is no store"), "\(missing.errors)")
        #expect(try await approov("keyset", "-add", "ES256", "-kid", "tokens").exitCode == 0)
        #expect(try await approov("customjwt").lines == ["customJWT  off", "keyset  -"])
        let early = try await approov("customjwt", "-enable", "on")
        #expect(early.exitCode == 0 && early.lines == ["customJWT  on", "keyset  -"])
        #expect(early.errors.contains("keyset -add ES256 -kid KID -use custom"))
        #expect(try await approov("keyset", "-add", "ES256", "-kid", "partner", "-use", "custom").exitCode == 0)
        let shown = try await approov("customjwt", "--json")
        let state = try #require(try shown.json() as? [String: Any])
        #expect(state["enabled"] as? Bool == true && state["kid"] as? String == "partner" && shown.errors.isEmpty)
        #expect(try await approov("customjwt", "-enable", "off").lines == ["customJWT  off", "keyset  partner"])
    }

    /// Posts evidence of an app to a running authority, with claims for a custom JWT beside it.
    private func attest(_ app: String, claims: CustomClaims, url: String, _ transport: CurlTransport) async throws -> JSONValue {
        let initial = try InitialConfiguration([UInt8](await approov("sdk", "-getConfigString").output.utf8))
        func post(_ path: String, _ body: JSONValue) async throws -> JSONValue {
            let response = try await ServerProcess.send(
                .bytes(body.serialized()), type: "application/json", to: url + path, trusting: initial.trustRoots, over: transport)
            return try JSONValue(parsing: try await response.body.collect(upTo: 1 << 20), limit: 1 << 20)
        }
        let attester = try InstallationAttester(stateDirectory: folder.file("state"), executable: URL(filePath: app))
        let evidence = try await attester.evidence(
            for: EvidenceRequest(
                challenge: Challenge(json: try await post("/v1/challenges", .object([:]))).value,
                audience: initial.authority.absoluteString, account: initial.account, host: "api.example.com", sdkVersion: "1",
                configVersion: 1, customClaimsHash: claims.hash))
        return try await post("/v1/attestations", AttestationRequest(evidence: evidence, customClaims: claims.bytes).json)
    }

    /// The first answer that is a result: the authority takes up a change shortly after the command.
    private func judgedOnceTakenUp(_ attest: () async throws -> JSONValue) async throws -> AttestationResult {
        var answer = try await attest()
        _ = try await eventually {
            if (try? AttestationResult(json: answer)) == nil { answer = try await attest() }
            return (try? AttestationResult(json: answer)) != nil
        }
        return try AttestationResult(json: answer)
    }

    @Test("A registered app gets a custom JWT that -getPEM's key verifies; -check and PyJWT with the secret reject it")
    func wholeWay() async throws {
        let pins = [try TestKey().pin.description, try TestKey().pin.description]
        let app = try folder.write("app", to: "app")
        let other = try folder.write("other", to: "other")
        #expect(try await approov("api", "-add", "api.example.com", "-pin", pins[0], "-pin", pins[1]).exitCode == 0)
        #expect(try await approov("registration", "-add", app).exitCode == 0)
        #expect(try await approov("secstrings", "-addKey", "maps-key", "-predefinedValue", "secret-value").exitCode == 0)
        #expect(try await approov("secret", "-messageSigningKey", "change", "--yes").exitCode == 0)
        #expect(try await approov("keyset", "-add", "ES256", "-kid", "partner", "-use", "custom").exitCode == 0)
        let claims = try CustomClaims(.object(["role": "admin"]), for: "api.example.com")
        let transport = try CurlTransport()
        let run = try await ServerProcess.run(["serve", "--listen", "127.0.0.1:0", "--data", data]) { server in
            let disabled = try await attest(app, claims: claims, url: server.url, transport)
            #expect(try Problem(json: disabled).name == .disabled)
            #expect(try await approov("customjwt", "-enable", "on").exitCode == 0)
            let judged = try await judgedOnceTakenUp { try await attest(app, claims: claims, url: server.url, transport) }
            let token = try #require(judged.customToken)
            #expect(judged.secureStrings == ["maps-key": "secret-value"])
            let key = try await approov("secret", "-messageSigningKey", "get-base64url").lines.first
            #expect(judged.messageSigningKey?.base64url == key)

            let pem = folder.path("partner.pem")
            #expect(try await approov("keyset", "-kid", "partner", "-getPEM", pem).exitCode == 0)
            let publicKey = try P256.Signing.PublicKey(pemRepresentation: String(contentsOf: URL(filePath: pem), encoding: .utf8))
            let parts = token.split(separator: ".").map(String.init)
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2])))
            #expect(publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
            #expect(try Approov.claims(of: token)["role"] as? String == "admin")

            let checked = try await approov("token", "-check", token)
            #expect(checked.exitCode == 1 && checked.errors.contains("this is a custom JWT"), "\(checked.errors)")
            if await PyJWTBackend.isPossible() {
                let secret = try await approov("secret", "-get", "base64").lines.first ?? ""
                let backend = try await PyJWTBackend(secret: secret, audience: "api.example.com")
                #expect(try await backend.answer(to: judged.token) == "200 welcome")
                #expect(try await backend.answer(to: token).hasPrefix("401 Invalid"))
            }

            let rejected = try AttestationResult(json: try await attest(other, claims: claims, url: server.url, transport))
            #expect(rejected.customToken == nil && rejected.secureStrings == nil)
            #expect(
                rejected.messageSigningKey?.id == judged.messageSigningKey?.id && rejected.messageSigningKey != judged.messageSigningKey)
        }
        #expect(run.exitCode == 0)
        transport.shutdown()
    }
}
