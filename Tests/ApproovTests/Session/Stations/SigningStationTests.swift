import ApproovTesting
import Attestation
import Crypto
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import MessageSignatures
import Testing

@testable import Approov

@Suite struct SigningStationTests {
    private let world: World
    private let accountKey: MessageSigningKey
    private let folder: TemporaryFolder

    init() throws {
        world = try World(hosts: [
            "api.test": .pinned, "other.test": .pinned, "pinned.test": HostSettings.pinned.with { $0.attested = false },
            "oblivious.test": HostSettings.pinned.with { $0.oblivious = true },
        ])
        let key = try MessageSigningKey(id: "k1", key: [UInt8](repeating: 7, count: 32))
        accountKey = key
        world.authority.script.change { $0.messageSigningKey = key }
        folder = try TemporaryFolder()
    }

    private func session(
        _ signing: MessageSigning?, in world: World? = nil, _ change: (inout ApproovSessionConfiguration) throws -> Void = { _ in }
    ) throws -> ApproovSession {
        let world = world ?? self.world
        var configuration = ApproovSessionConfiguration()
        configuration.signing = signing
        try change(&configuration)
        return try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: world.service,
            trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: configuration)
    }

    /// Verifies what reached the API, as a backend does.
    @discardableResult
    private func verified(_ request: TransportRequest, with key: ApproovService.SigningKey = .installation) throws -> VerifiedSignature {
        let verifying: SignatureVerificationKey =
            switch key {
            case .installation: .ecdsaP256SHA256(world.attester.key.publicKey)
            case .account: try .hmacSHA256(accountKey.key, id: accountKey.id)
            }
        let verifier = SignatureVerifier(
            keys: [verifying], requirements: SignatureRequirements(covering: [.method, .targetURI, .field(.approovToken)]),
            time: world.clock)
        let signature = try verifier.verify(
            .request(
                SignableRequest(method: request.method.rawValue, target: TargetURI(request.url.text), fields: request.headerFields)))
        if case .bytes(let bytes) = request.body {
            try #require(try ContentDigest.read(from: request.headerFields)).check(bytes)
            #expect(signature.covers(.contentDigest))
            #expect(request.headerFields[.contentLength] == String(bytes.count))
        }
        return signature
    }

    private var sent: TransportRequest {
        get throws { try #require(world.apiRequests.last) }
    }

    private var now: Int64 { Int64(world.clock.date.timeIntervalSince1970.rounded(.down)) }

    private func isUnsigned(_ request: TransportRequest) -> Bool {
        [MessageSignature.fieldName, MessageSignature.inputFieldName, SignatureBase.debugFieldName, ContentDigest.fieldName]
            .allSatisfy { !request.headerFields.contains($0) }
    }

    @Test("A request without a body is signed over method, target, token and trace ID, with alg, created and expires")
    func plain() async throws {
        _ = try await session(.installation()).data(for: URLRequest("https://API.test:443/a%2fb?x=&x=%20#part"))
        let request = try sent
        #expect(
            request.headerFields[MessageSignature.inputFieldName]
                == "install=(\"@method\" \"@target-uri\" \"approov-token\" \"approov-traceid\");alg=\"ecdsa-p256-sha256\""
                + ";created=\(now);expires=\(now + 15)")
        #expect(request.url.text == "https://api.test/a%2fb?x=&x=%20")
        #expect(try verified(request).label == "install")
        #expect(!request.headerFields.contains(SignatureBase.debugFieldName) && !request.headerFields.contains(.contentLength))
    }

    @Test("Authorization, Content-Length, Content-Type, further fields and the digest follow, each where the request has it")
    func everything() async throws {
        var signing = MessageSigning.installation(keyID: "app \"1\"")
        signing.additionalFields = ["X-Order", "authorization", "X-Missing"]
        signing.lifetime = .seconds(60)
        _ = try await session(signing).data(
            for: URLRequest(
                "https://api.test/orders", method: "POST",
                ["Authorization": "Bearer alice", "Content-Type": "text/plain", "X-Order": "7", "Content-Length": "99"], body: "order"))
        #expect(
            try sent.headerFields[MessageSignature.inputFieldName]
                == "install=(\"@method\" \"@target-uri\" \"approov-token\" \"approov-traceid\" \"authorization\" \"content-length\""
                + " \"content-type\" \"x-order\" \"content-digest\");alg=\"ecdsa-p256-sha256\";created=\(now);expires=\(now + 60)"
                + ";keyid=\"app \\\"1\\\"\"")
        try verified(sent)
    }

    @Test("A session that does not sign adds nothing, and one that signs adds nothing to a request without a token")
    func unsigned() async throws {
        _ = try await session(nil).data(for: URLRequest("https://api.test/", method: "POST", body: "x"))
        #expect(try isUnsigned(sent) && !sent.headerFields.contains(.contentLength))
        let signing = try session(.both()) { $0.excludedURLs = [try URLGlob("https://api.test/public/**")] }
        for url in ["https://pinned.test/", "https://open.test/", "https://api.test/public/x"] {
            _ = try await signing.data(for: URLRequest(url, method: "POST", body: "x"))
            #expect(try isUnsigned(sent) && !sent.headerFields.contains(.contentLength), "\(url)")
        }
        world.authority.script.value.fault = { .problem(.notFound, 500, to: $0) }
        let lenient = try session(.both()) { $0.sendsWithoutTokenWhenAuthorityIsDown = true }
        _ = try await lenient.data(for: URLRequest("https://other.test/"))
        #expect(try isUnsigned(sent) && !sent.headerFields.contains(.approovToken))
    }

    @Test("With the account key, requests are signed with the key that came with the token, also after the account changed it")
    func account() async throws {
        let session = try session(.account(keyID: "k1"))
        _ = try await session.data(for: URLRequest("https://api.test/", method: "POST", body: "x"))
        #expect(try verified(sent, with: .account).label == "account")
        let newer = try MessageSigningKey(id: "k2", key: [UInt8](repeating: 8, count: 32))
        world.authority.script.change { $0.messageSigningKey = newer }
        _ = try await session.data(for: URLRequest("https://other.test/"))
        _ = try await session.data(for: URLRequest("https://api.test/"))
        try verified(sent, with: .account)
    }

    @Test("Both keys sign the same components, the installation's first")
    func both() async throws {
        var signing = MessageSigning.both(accountKeyID: "k1")
        signing.sendsBaseDigest = true
        _ = try await session(signing).data(for: URLRequest("https://api.test/", method: "POST", body: "x"))
        let components = "(\"@method\" \"@target-uri\" \"approov-token\" \"approov-traceid\" \"content-length\" \"content-digest\")"
        #expect(
            try sent.headerFields[MessageSignature.inputFieldName]
                == "install=\(components);alg=\"ecdsa-p256-sha256\";created=\(now);expires=\(now + 15), "
                + "account=\(components);alg=\"hmac-sha256\";created=\(now);expires=\(now + 15);keyid=\"k1\"")
        try verified(sent)
        try verified(sent, with: .account)
        let request = try sent
        let base = try SignatureBase(
            .request(SignableRequest(method: "POST", target: TargetURI(request.url.text), fields: request.headerFields)),
            parameters: try verified(request).parameters)
        let accountBase = try SignatureBase(
            .request(SignableRequest(method: "POST", target: TargetURI(request.url.text), fields: request.headerFields)),
            parameters: try verified(request, with: .account).parameters)
        #expect(request.headerFields[values: SignatureBase.debugFieldName] == [base.debugDigest, accountBase.debugDigest])
    }

    @Test("While the account has no key, requests that need it fail, say what to do, and are not sent")
    func missingAccountKey() async throws {
        world.authority.script.change { $0.messageSigningKey = nil }
        for signing in [MessageSigning.account(), .both()] {
            let session = try session(signing)
            let error = await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest("https://api.test/")) }
            #expect(error?.code == .signingFailed && error?.message.contains("secret -messageSigningKey change") == true)
        }
        #expect(world.apiRequests.isEmpty)
        _ = try await session(.installation()).data(for: URLRequest("https://api.test/"))
        try verified(sent)
    }

    @Test("A file is signed as it is sent", arguments: [0, 5, 200_000])
    func file(count: Int) async throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let path = try folder.write(bytes, to: "upload")
        let session = try session(.installation())
        _ = try await session.upload(for: URLRequest("https://api.test/", method: "PUT"), fromFile: URL(filePath: path))
        let request = try sent
        let signature = try verified(request)
        #expect(signature.covers(.contentDigest) && signature.covers(.field(.contentLength)))
        #expect(request.headerFields[ContentDigest.fieldName] == ContentDigest(of: bytes).fieldValue)
        #expect(request.headerFields[.contentLength] == String(count))
        #expect(request.options.fileLength == count)
    }

    @Test("A file that is not there fails the request, and nothing is sent")
    func missingFile() async throws {
        let session = try session(.installation())
        await #expect(throws: ApproovError(.bodyFailed, "")) {
            try await session.upload(for: URLRequest("https://api.test/", method: "PUT"), fromFile: folder.file("none"))
        }
        #expect(world.apiRequests.isEmpty)
    }

    @Test("An empty body has a digest; without a body there is none, or that of no content, and Content-Length where the method needs it")
    func emptyBody() async throws {
        let session = try session(.installation())
        var request = URLRequest("https://api.test/", method: "DELETE")
        request.httpBody = Data()
        _ = try await session.data(for: request)
        try verified(sent)
        #expect(
            try sent.headerFields[ContentDigest.fieldName] == "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
        for (method, length) in [("GET", nil), ("DELETE", nil), ("POST", "0"), ("PUT", "0"), ("PATCH", "0")] as [(String, String?)] {
            _ = try await session.data(for: URLRequest("https://api.test/", method: method, ["Content-Length": "5"]))
            let request = try sent
            #expect(request.headerFields[.contentLength] == length && !request.headerFields.contains(ContentDigest.fieldName))
            #expect(try verified(request).covers(.field(.contentLength)) == (length != nil), "\(method)")
        }
        let other = ContentDigest(of: Array("body".utf8)).fieldValue
        _ = try await session.data(for: URLRequest("https://api.test/", ["Content-Digest": other]))
        #expect(try sent.headerFields[values: ContentDigest.fieldName] == [ContentDigest(of: []).fieldValue])
        #expect(try verified(sent).covers(.contentDigest))
    }

    private func streamed(_ headers: [String: String] = [:]) -> URLRequest {
        var request = URLRequest("https://api.test/", method: "POST", headers)
        request.httpBodyStream = InputStream(data: Data("stream".utf8))
        return request
    }

    @Test("A stream is refused with an error that says how to sign without a digest, and nothing is sent")
    func stream() async throws {
        let session = try session(.installation())
        let error = await #expect(throws: ApproovError.self) { try await session.data(for: streamed()) }
        #expect(error?.code == .signingFailed && error?.message.contains("signsStreamsWithoutDigest") == true)
        #expect(world.apiRequests.isEmpty)
    }

    @Test("A stream is signed without a digest if the app says so, or with the digest that the app knows")
    func streamWithoutDigest() async throws {
        var signing = MessageSigning.installation()
        let digest = ContentDigest(of: Array("stream".utf8)).fieldValue
        _ = try await session(signing).data(for: streamed(["Content-Digest": digest, "Content-Length": "6"]))
        var signature = try verified(sent)
        #expect(signature.covers(.contentDigest) && signature.covers(.field(.contentLength)))
        signing.signsStreamsWithoutDigest = true
        _ = try await session(signing).data(for: streamed())
        signature = try verified(sent)
        #expect(!signature.covers(.contentDigest) && !signature.covers(.field(.contentLength)))
    }

    @Test("A digest of the caller's gives way to that of the bytes that are sent")
    func callersDigest() async throws {
        let request = URLRequest("https://api.test/", method: "POST", ["Content-Digest": "sha-512=:AAAA:"], body: "order")
        _ = try await session(.installation()).data(for: request)
        try verified(sent)
    }

    @Test("A token that is bound to the digest is sent only with that digest")
    func boundDigest() async throws {
        let session = try session(.installation()) { $0.bindHeaders = ["Content-Digest"] }
        let digest = ContentDigest(of: Array("order".utf8)).fieldValue
        _ = try await session.data(for: URLRequest("https://api.test/", method: "POST", ["Content-Digest": digest], body: "order"))
        try verified(sent)
        let count = world.apiRequests.count
        let error = await #expect(throws: ApproovError.self) {
            try await session.data(
                for: URLRequest("https://api.test/", method: "POST", ["Content-Digest": "sha-512=:AAAA:"], body: "order"))
        }
        #expect(error?.code == .signingFailed && error?.message.contains("AAAA") == false)
        #expect(world.apiRequests.count == count)
        // An unbound token does not mind.
        let unbound = try self.session(.installation()) {
            $0.bindHeaders = ["Content-Digest"]
            $0.unboundRequests = .allowed
        }
        _ = try await unbound.data(for: URLRequest("https://api.test/", method: "POST", body: "order"))
        try verified(sent)
    }

    @Test("Another signature of the caller's stays, and one with the session's label is refused")
    func callersSignature() async throws {
        let session = try session(.installation())
        _ = try await session.data(
            for: URLRequest("https://api.test/", ["Signature-Input": "mine=(\"x-a\");tag=\"t\"", "Signature": "mine=:AAAA:"]))
        try verified(sent)
        #expect(try sent.headerFields[MessageSignature.fieldName]?.hasPrefix("mine=:AAAA:, install=:") == true)
        let error = await #expect(throws: ApproovError.self) {
            try await session.data(for: URLRequest("https://api.test/", ["Signature-Input": "install=()", "Signature": "install=:AAAA:"]))
        }
        #expect(error?.code == .signingFailed)
        #expect(world.apiRequests.count == 1)
    }

    @Test("A field that cannot be signed fails the request without showing its value, and nothing is sent")
    func unsignable() async throws {
        let session = try session(.installation())
        let error = await #expect(throws: ApproovError.self) {
            try await session.data(for: URLRequest("https://api.test/", ["Authorization": "Bearer sécret-canary"]))
        }
        #expect(error?.code == .signingFailed)
        #expect(error.map { !"\($0)".contains("canary") && !String(reflecting: $0).contains("canary") } == true)
        #expect(world.apiRequests.isEmpty)
    }

    @Test("A request to an oblivious host that would carry a token is refused, because a signature names the installation")
    func oblivious() async throws {
        let session = try session(.installation())
        let error = await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest("https://oblivious.test/")) }
        #expect(error?.code == .signingFailed && error?.message.contains("oblivious.test") == true)
        #expect(world.relayRequests.isEmpty && world.apiRequests.isEmpty)
    }

    @Test("Every hop of a redirect is signed again, and one to a host without tokens carries no signature")
    func redirect() async throws {
        world.api.value = { request in
            let next: [String: String] = ["/one": "https://other.test/two", "/two": "https://open.test/three"]
            guard let location = next[request.url.target] else { return TransportResponse(status: 200, url: request.url) }
            return TransportResponse(status: 307, headerFields: [.location: location], url: request.url)
        }
        _ = try await session(.installation()).data(for: URLRequest("https://api.test/one", method: "POST", body: "order"))
        let requests = world.apiRequests
        #expect(requests.map(\.url.text) == ["https://api.test/one", "https://other.test/two", "https://open.test/three"])
        for request in requests.prefix(2) { try verified(request) }
        #expect(requests.last.map(isUnsigned) == true && requests.last?.headerFields.contains(.approovToken) == false)
    }

    @Test("A redirect that drops the body is signed without its length and digest")
    func redirectWithoutBody() async throws {
        world.api.value = { request in
            guard request.url.target == "/one" else { return TransportResponse(status: 200, url: request.url) }
            return TransportResponse(status: 303, headerFields: [.location: "/two"], url: request.url)
        }
        _ = try await session(.installation()).data(for: URLRequest("https://api.test/one", method: "POST", body: "order"))
        let signature = try verified(sent)
        #expect(try sent.method == .get && !signature.covers(.contentDigest) && !signature.covers(.field(.contentLength)))
    }

    @Test("A retry is signed again, with its own time")
    func retry() async throws {
        let world = world
        world.api.value = { request in
            world.clock.advance(by: .seconds(20))
            return TransportResponse(status: world.apiRequests.count < 2 ? 503 : 200, url: request.url)
        }
        let session = try session(.installation()) { $0.interceptors = [RetryTests.Retrying()] }
        _ = try await session.data(for: URLRequest("https://api.test/", method: "PUT", body: "order"))
        let inputs = world.apiRequests.compactMap { $0.headerFields[MessageSignature.inputFieldName] }
        #expect(inputs.count == 2 && inputs.first?.contains("created=\(now - 40)") == true)
        #expect(inputs.last?.contains("created=\(now - 20)") == true)
    }

    @Test("The caller's policy changes the request before it is signed")
    func policy() async throws {
        struct Mover: AttestationPolicy {
            func didPrepare(_ request: URLRequest, changes: RequestChanges) async throws -> URLRequest {
                var request = request
                request.url = URL(string: "https://api.test/moved?a=%2F")
                request.httpMethod = "PUT"
                request.httpBody = Data("moved".utf8)
                return request
            }
        }
        _ = try await session(.installation()) { $0.policy = Mover() }.data(for: URLRequest("https://api.test/", method: "POST", body: "x"))
        #expect(try sent.url.target == "/moved?a=%2F")
        try verified(sent)
    }

    @Test("A token in the Authorization header is covered once")
    func tokenInAuthorization() async throws {
        _ = try await session(.installation()) { $0.tokenHeader = TokenHeader(name: "Authorization", prefix: "Bearer ", traceIDName: nil) }
            .data(for: URLRequest("https://api.test/"))
        #expect(
            try sent.headerFields[MessageSignature.inputFieldName]?.hasPrefix("install=(\"@method\" \"@target-uri\" \"authorization\");")
                == true)
    }

    /// An attester that cannot sign messages.
    private struct EvidenceOnly: Attester {
        let base = ScriptedAttester()
        var deviceID: DeviceID { base.deviceID }
        func evidence(for request: EvidenceRequest) async throws -> String { try await base.evidence(for: request) }
    }

    /// An attester whose signatures are wrong.
    private struct Faulty: Attester, InstallationSigner {
        let base = ScriptedAttester()
        let signature: @Sendable () throws -> [UInt8]
        var deviceID: DeviceID { base.deviceID }
        func evidence(for request: EvidenceRequest) async throws -> String { try await base.evidence(for: request) }
        func installationSignature(of message: [UInt8]) async throws -> [UInt8] { try signature() }
    }

    private func service(_ attester: any Attester) throws -> ApproovService {
        try ApproovService(
            configuration: ApproovConfiguration(try world.account.initial(world.account.configuration(hosts: ["api.test": .pinned]))),
            stateDirectory: folder.url, attester: attester, store: MemoryStore(), transport: world.transport, clock: world.clock,
            logger: .silent)
    }

    @Test("An attester that fails to sign, or signs in another form, fails the request, and nothing is sent")
    func faultyAttester() async throws {
        for attester in [Faulty { [1, 2, 3] }, Faulty { throw CocoaError(.fileNoSuchFile) }] {
            var configuration = ApproovSessionConfiguration()
            configuration.signing = .installation()
            let session = try ApproovSession(
                wrapping: URLSession(configuration: .ephemeral), service: service(attester),
                trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: configuration)
            await #expect(throws: ApproovError(.signingFailed, "")) { try await session.data(for: URLRequest("https://api.test/")) }
        }
        #expect(world.apiRequests.isEmpty)
    }

    @Test("A session refuses settings of signatures that cannot work, when it is made")
    func settings() throws {
        func refusal(
            _ service: ApproovService?, _ signing: MessageSigning = .installation(),
            _ change: (inout ApproovSessionConfiguration) throws -> Void = { _ in }
        ) throws -> ApproovError? {
            var configuration = ApproovSessionConfiguration.over(world.transport)
            configuration.signing = signing
            try change(&configuration)
            return #expect(throws: ApproovError.self) {
                try ApproovSession(wrapping: URLSession(configuration: .ephemeral), service: service, configuration: configuration)
            }
        }
        var errors = [
            try refusal(nil), try refusal(service(EvidenceOnly())), try refusal(service(EvidenceOnly()), .both()),
            try refusal(world.service) { $0.obliviousRoute = try ObliviousRoute(world.gateway.settings) },
            try refusal(world.service) { $0.allRequestsMustBeOblivious = true },
        ]
        for keyID in ["", "é", "a\nb", String(repeating: "a", count: 257)] {
            errors.append(try refusal(world.service, .installation(keyID: keyID)))
            errors.append(try refusal(world.service, .both(accountKeyID: keyID)))
        }
        for lifetime in [Duration.zero, .seconds(-1), .milliseconds(1_500), .seconds(3_601)] {
            var signing = MessageSigning.account()
            signing.lifetime = lifetime
            errors.append(try refusal(world.service, signing))
        }
        for name in ["", "a b", ":path", "Signature", "signature-input", "Content-Digest", "Signature-Base-Digest", "host"] {
            var signing = MessageSigning.account()
            signing.additionalFields = [name]
            errors.append(try refusal(world.service, signing))
        }
        for error in errors { #expect(error?.code == .initializationError, "\(String(describing: error))") }
        var account = ApproovSessionConfiguration.over(world.transport)
        account.signing = .account()
        _ = try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: service(EvidenceOnly()), configuration: account)
    }
}
