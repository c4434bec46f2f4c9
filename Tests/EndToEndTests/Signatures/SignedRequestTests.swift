import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokenCheck
import Attestation
import Foundation
import FoundationNetworking
import HTTPTypes
import Hummingbird
import MessageSignatures
import TestTags
import Testing

/// Signed requests, from the app to an API behind the token check and the signature check.
@Suite("A signed request", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct SignedRequestTests {
    /// A backend as a developer writes it, which answers `/orders` with the number of bytes received.
    private func backend(
        _ world: LoopbackWorld, host: String = LoopbackWorld.apiHost, keys: [SignatureKeySource]
    ) async throws -> TestHTTPServer {
        let router = Router(context: BasicSignatureCheckedRequestContext.self)
        let checked = router.group()
            .add(
                middleware: try TokenCheckMiddleware(
                    verifier: world.authority.store.tokenVerifier(audience: host), bindingHeaders: [LoopbackWorld.bindingHeader],
                    pay: .required))
        for keys in keys { checked.add(middleware: try SignatureCheckMiddleware(keys: keys, alsoCovering: [.field(.authorization)])) }
        let answer: @Sendable (Request, BasicSignatureCheckedRequestContext) async throws -> String = { request, context in
            _ = try context.requireVerifiedSignature()
            return String(try await request.body.collect(upTo: 1 << 21).readableBytes)
        }
        checked.get("orders", use: answer)
        checked.post("orders", use: answer)
        checked.put("orders", use: answer)
        checked.post("redirect") { request, _ in
            Response(status: .temporaryRedirect, headers: [.location: request.uri.queryParameters["to"].map(String.init) ?? ""])
        }
        return try await TestHTTPServer.start(
            certificate: TestPKI.leaf(hosts: LoopbackWorld.names, issuer: world.root, key: world.keys[0]),
            responder: router.buildResponder())
    }

    private func keys(of world: LoopbackWorld) -> SignatureKeySource {
        let store = world.authority.store
        return .account(lookUp: { id in store.messageSigningKey.flatMap { $0.id == id ? $0.key : nil } })
    }

    private func request(_ url: URL, method: String = "GET", body: Data? = nil) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.setValue("Bearer alice", forHTTPHeaderField: LoopbackWorld.bindingHeader)
        request.httpBody = body
        return request
    }

    private func check(_ signing: MessageSigning, _ keys: (LoopbackWorld) -> [SignatureKeySource]) async throws {
        try await LoopbackWorld.with { world in
            try await world.authority.store.changeMessageSigningKey()
            let api = try await backend(world, keys: keys(world))
            let session = try await world.app { $0.configuration.signing = signing }.session
            let url = try world.url("/orders?a=%2F&a=&b", port: api.port)
            #expect(try await session.data(for: request(url)).1.statusCode == 200)
            for count in [0, 5, 100_000] {
                let body = Data(repeating: 65, count: count)
                let (data, response) = try await session.data(for: request(url, method: "POST", body: body))
                #expect(response.statusCode == 200 && data == Data(String(count).utf8), "\(count) bytes")
                let file = world.folder.file("upload-\(count)")
                try body.write(to: file)
                let (uploaded, answer) = try await session.upload(for: request(url, method: "PUT"), fromFile: file)
                #expect(answer.statusCode == 200 && uploaded == Data(String(count).utf8), "a file of \(count) bytes")
            }
            let unsigned = try await world.app { $0.state = "unsigned" }.session
            let (_, response) = try await unsigned.data(for: request(url))
            #expect(response.statusCode == 401)
            #expect(response.value(forHTTPHeaderField: "WWW-Authenticate") == "Approov-Signature")
            await api.stop()
        }
    }

    @Test("With the installation key it passes the check, with and without a body, and an unsigned one does not")
    func installation() async throws {
        try await check(.installation()) { _ in [.installation] }
    }

    @Test("With the account key it passes the check, with and without a body, and an unsigned one does not")
    func account() async throws {
        try await check(.account()) { [keys(of: $0)] }
    }

    @Test("With both keys it passes both checks")
    func both() async throws {
        try await check(.both()) { [.installation, keys(of: $0)] }
    }

    @Test("With the key of another installation or account it does not pass")
    func otherKey() async throws {
        try await LoopbackWorld.with { world in
            try await world.authority.store.changeMessageSigningKey()
            let key = try #require(world.authority.store.messageSigningKey)
            let api = try await backend(world, keys: [.account([key.id: [UInt8](repeating: 1, count: 32)])])
            let app = try await world.app { $0.configuration.signing = .account() }
            #expect(try await app.get(world.url("/orders", port: api.port)).status == 401)
            await api.stop()
        }
    }

    @Test("After a redirect to another host it is signed for that host, and a host without tokens gets no signature")
    func redirect() async throws {
        try await LoopbackWorld.with { world in
            let other = try await backend(world, host: LoopbackWorld.otherHost, keys: [.installation])
            let api = try await backend(world, keys: [.installation])
            let seen = Shared<[HTTPFields]>([])
            let open = try await world.server { request in
                seen.change { $0.append(request.headerFields) }
                return TestResponse(text: "")
            }
            let session = try await world.app {
                $0.configuration.signing = .installation()
                $0.interceptors = [Authorizing()]
            }.session
            func redirect(to url: URL) throws -> URLRequest {
                let target = try #require(url.absoluteString.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                return request(try world.url("/redirect?to=\(target)", port: api.port), method: "POST", body: Data("order".utf8))
            }
            let there = try world.url("/orders", host: LoopbackWorld.otherHost, port: other.port)
            let (data, response) = try await session.data(for: redirect(to: there))
            #expect(response.statusCode == 200 && data == Data("5".utf8))
            let elsewhere = try world.url("/orders", host: LoopbackWorld.openHost, port: open.port)
            #expect(try await session.data(for: redirect(to: elsewhere)).1.statusCode == 200)
            let fields = try #require(seen.value.first)
            #expect(!fields.contains(MessageSignature.fieldName) && !fields.contains(MessageSignature.inputFieldName))
            for server in [api, other, open] { await server.stop() }
        }
    }

    /// Sets the binding header for every host, as the interceptor of an app with its own login does.
    private struct Authorizing: RequestInterceptor {
        func adapt(_ request: URLRequest) async throws -> URLRequest {
            var request = request
            request.setValue("Bearer alice", forHTTPHeaderField: LoopbackWorld.bindingHeader)
            return request
        }
    }

    @Test("approov call --sign makes one that passes", arguments: ["install", "account", "both"])
    func commandLine(choice: String) async throws {
        try await LoopbackWorld.with { world in
            try await world.authority.store.changeMessageSigningKey()
            try await world.authority.store.addRegistration(ExecutableMeasurement.sha256(ofFileAt: ChildProcess.approov), label: "approov")
            let sources = ["install": [.installation], "account": [keys(of: world)], "both": [.installation, keys(of: world)]]
            let api = try await backend(world, keys: try #require(sources[choice]))
            let configuration = try await String(decoding: world.authority.initialConfiguration().serialized, as: UTF8.self)
            let file = try world.folder.write(configuration, to: "initial.config")
            func call(_ more: [String]) async throws -> ChildProcess.Run {
                try await ChildProcess.run(
                    ChildProcess.approov,
                    [
                        "call", try world.url("/orders", port: api.port).absoluteString, "-v", "-d", "an order",
                        "-H", "Authorization: Bearer alice", "--bind", "Authorization", "--config", file, "--state",
                        world.folder.path("call-state"),
                    ] + more)
            }
            let run = try await call(["--sign", choice])
            #expect(run.exitCode == 0 && run.output == "8", "\(run.errors)")
            #expect(run.errors.contains("* signed with the "))
            let mskid = try #require(world.authority.store.messageSigningKey?.id)
            let named = try await call(
                ["--sign", choice] + (choice == "account" ? [] : ["--install-key-id", "install"])
                    + (choice == "install" ? [] : ["--account-key-id", mskid]))
            #expect(named.exitCode == 0, "\(named.errors)")
            if choice != "install" {
                let other = try await call(["--sign", choice, "--account-key-id", "other"])
                #expect(other.exitCode == 22, "the check finds the account's key by its ID")
            }
            let unsigned = try await call([])
            #expect(unsigned.exitCode == 22 && !unsigned.errors.contains("signed with"), "\(unsigned.errors)")
            await api.stop()
        }
    }
}
