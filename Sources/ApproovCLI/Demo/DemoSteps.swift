import Approov
import ApproovAuthority
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// The demo's steps: each returns a description of what it saw, or throws when it saw something unexpected.
struct DemoSteps {
    let world: DemoWorld
    let app: DemoApp

    private static let alice = "Bearer alice"

    /// The API answers an attested call that is bound to Authorization.
    func attestedCall() async throws -> String {
        let answer = try await app.get(world.url(ShapesAPI.shapes, port: world.api.port), authorization: Self.alice)
        try expect(answer.status == 200, "the API answered \(answer.status)")
        return "200 \"\(answer.text)\" from \(world.url(ShapesAPI.shapes, port: world.api.port))"
    }

    /// The API accepts the call's token with its own Authorization, and refuses it with another.
    func otherAuthorization() async throws -> String {
        let token = try await app.token(for: world.url(ShapesAPI.shapes, port: world.api.port), authorization: Self.alice)
        let same = try await plainStatus(port: world.api.port, token: token, authorization: Self.alice)
        try expect(same == 200, "the API answered \(same) to the token with its own Authorization")
        let other = try await plainStatus(port: world.api.port, token: token, authorization: "Bearer mallory")
        try expect(other == 401, "the API answered \(other) to the token with another Authorization")
        return "the API answered 200 to a replay with its own Authorization, and 401 with another one"
    }

    /// The API accepts an order that the app signed, and refuses it with one other byte in its body.
    func signedRequest() async throws -> String {
        let (answer, sent) = try await app.order(
            "1 square", at: world.url(ShapesAPI.orders, port: world.api.port), authorization: Self.alice)
        try expect(answer.status == 200, "the API answered \(answer.status) to the signed order")
        // The control: an unchanged copy passes, so the refusal below comes from the change.
        let copy = try await plainResponse(to: sent, body: "1 square")
        try expect(copy.status == 200, "the API answered \(copy.status) to a copy of the signed order")
        let changed = try await plainResponse(to: sent, body: "9 square")
        try expect(changed.status == 401, "the API answered \(changed.status) to the order with one byte changed")
        try expect(changed.headerFields[.wwwAuthenticate] == "Approov-Signature", "the API refused the changed order for another reason")
        return "200 \"\(answer.text)\" to the order as signed, and 401 to the same order with one byte changed"
    }

    /// The API accepts a limited-use token once, and no other token where it consumes them.
    func limitedUse() async throws -> String {
        let url = world.url(ShapesAPI.payments, port: world.api.port)
        let token = try await app.limitedUseToken(for: url, authorization: Self.alice)
        let first = try await plainStatus(ShapesAPI.payments, port: world.api.port, token: token, authorization: Self.alice)
        try expect(first == 200, "the API answered \(first) to the first use")
        let second = try await plainStatus(ShapesAPI.payments, port: world.api.port, token: token, authorization: Self.alice)
        try expect(second == 401, "the API answered \(second) to the second use")
        let usual = try await app.get(url, authorization: Self.alice)
        try expect(usual.status == 401, "the API answered \(usual.status) to a token for any number of uses")
        return "the API answered 200 to the first use, 401 to the second, and 401 to a token for any number of uses"
    }

    /// A genuine app sends a secret that it knows by its key alone; a changed app sends nothing.
    func secureString() async throws -> String {
        let url = world.url(ShapesAPI.map, port: world.api.port)
        let answer = try await app.get(url, authorization: Self.alice, apiKey: ShapesAPI.mapKey)
        try expect(answer.status == 200, "the API answered \(answer.status) to the app's secret")
        let placeholder = try await app.get(url, authorization: Self.alice, apiKey: "other-key")
        try expect(placeholder.status == 403, "the API answered \(placeholder.status) without the secret")
        let files = try appFiles()
        for file in files {
            let content = try Data(contentsOf: file, options: .alwaysMapped)
            try expect(content.range(of: Data(world.secret.utf8)) == nil, "\(file.lastPathComponent) contains the secret")
        }
        return "200 \"\(answer.text)\" with the secret and 403 without it; \(files.count) files of the app do not contain it"
    }

    /// The files that the app ships with and has written.
    private func appFiles() throws -> [URL] {
        // By name: the listing by URL looks at each file, and fails when the app replaces one meanwhile.
        let names = try FileManager.default.contentsOfDirectory(atPath: world.appState.path(percentEncoded: false))
        return [world.configurationFile, world.rootsFile] + names.map { world.appState.appending(path: $0) }
    }

    /// An impostor with a certificate of the same trusted CA but another key receives no byte of HTTP.
    func impostor() async throws -> String {
        let requests = world.api.counters.requests
        let refusal = try await app.refusal(of: world.url(ShapesAPI.shapes, port: world.impostor.port), authorization: Self.alice)
        try expect(refusal.reason == .pinMismatch, "the app refused the impostor for another reason: \(refusal.reason)")
        let seen = world.impostor.receivedCount
        try expect(seen == 0, "the impostor received \(seen) bytes")
        try expect(world.impostor.counters.connections > 0, "the app never connected to the impostor")
        try expect(world.api.counters.requests == requests, "the app called the API")
        // The control: a client that only validates the path gets an answer, so the refusal above came from the pins.
        let status = try await plainStatus(port: world.impostor.port, token: nil, authorization: nil)
        try expect(status == 200 && world.impostor.receivedCount > 0, "the impostor did not answer a client without pins")
        return "\(refusal.reason), the impostor received 0 bytes; it answered \(status) to a client without pins"
    }

    /// The API refuses an unregistered executable, whose token reveals nothing to it.
    func unregisteredExecutable() async throws -> String {
        let variant = world.folder.appending(path: "unregistered-app")
        try OwnExecutable.makeVariant(at: variant)
        async let registered = call(with: OwnExecutable.url, state: "registered-state")
        async let unregistered = call(with: variant, state: "unregistered-state")
        let (good, bad) = try await (registered, unregistered)
        try expect(good.exitCode == 0, "the registered executable failed with exit code \(good.exitCode): \(good.errors)")
        try expect(bad.exitCode == CommandFailure.otherStatus, "the changed executable ended with exit code \(bad.exitCode): \(bad.errors)")
        try expect(bad.errors.contains("401"), "the API did not answer 401: \(bad.errors)")
        return "with one byte appended: 401, exit code \(bad.exitCode); the registered executable: exit code 0"
    }

    /// Pins that change at the authority reach the running app.
    func rotatedPins() async throws -> (TestHTTPServer, detail: String) {
        let hosts = [DemoWorld.apiHost, DemoWorld.staticHost]
        let rotated = try await ShapesAPI.start(
            certificate: TestPKI.leaf(hosts: hosts, issuer: world.root, key: world.keys[2]),
            verifier: world.authority.store.tokenVerifier(audience: DemoWorld.apiHost))
        do {
            let detail = try await rotate(to: rotated)
            return (rotated, detail)
        } catch {
            await rotated.stop()
            throw error
        }
    }

    private func rotate(to rotated: TestHTTPServer) async throws -> String {
        let url = world.url(ShapesAPI.shapes, port: rotated.port)
        let before = app.service.configuration.version
        let refusal = try await app.refusal(of: url, authorization: Self.alice)
        try expect(refusal.reason == .pinMismatch && rotated.counters.requests == 0, "the app accepted the new key before its pin")
        let pins = world.keys.suffix(2).map(\.pin.description)
        try await world.authority.store.setPins(pins, forHost: DemoWorld.apiHost)
        try await world.authority.store.addHost(
            DemoWorld.staticHost, settings: HostSettings(pins: pins, attested: false, trustRoots: world.root.pem))
        // Another user's first call needs a new token; the authority's answer brings the new configuration.
        let answer = try await app.get(url, authorization: "Bearer bob")
        try expect(answer.status == 200, "the API with the new key answered \(answer.status)")
        let stale = try await app.refusal(of: world.url(ShapesAPI.shapes, port: world.api.port), authorization: Self.alice)
        try expect(stale.reason == .pinMismatch, "the app still accepts the old key")
        let after = app.service.configuration.version
        return "the app refused the new key under configuration \(before), accepted it under \(after), and then refused the old key"
    }

    /// With the authority down, a new process uses the pins of the stored configuration.
    func restartOffline(api: TestHTTPServer) async throws -> String {
        await world.authority.stop(removingStore: false)
        let seen = (api.counters.requests, world.impostor.receivedCount)
        let own = OwnExecutable.url
        async let pinned = restarted(own, world.url(ShapesAPI.hello, port: api.port, host: DemoWorld.staticHost))
        async let impostor = restarted(own, world.url(ShapesAPI.hello, port: world.impostor.port, host: DemoWorld.staticHost))
        async let protected = restarted(own, world.url(ShapesAPI.shapes, port: api.port))
        let (good, bad, tokenless) = try await (pinned, impostor, protected)
        try expect(good.exitCode == 0, "the call of the pinned host failed with exit code \(good.exitCode): \(good.errors)")
        try expect(bad.exitCode == CommandFailure.trustRefused, "the app did not refuse the impostor: exit code \(bad.exitCode)")
        try expect(world.impostor.receivedCount == seen.1, "the impostor received bytes")
        try expect(tokenless.exitCode == 1, "a call that needs a token ended with exit code \(tokenless.exitCode)")
        try expect(api.counters.requests == seen.0 + 1, "the API saw \(api.counters.requests - seen.0) requests instead of one")
        return "the app got 200 from the pinned host, refused the impostor, and did not call the protected host without a token"
    }

    /// Makes the same call to an oblivious host, from another local address.
    ///
    /// The relay must learn the address but not the request, and the gateway the request but not the address.
    func oblivious() async throws -> String {
        let address = "127.0.0.7"
        let other = try DemoApp(
            configuration: world.configurationFile, state: world.folder.appending(path: "oblivious-state"), roots: world.root.pem,
            from: address)
        let oblivious = world.oblivious
        let url = world.url(ShapesAPI.shapes, port: oblivious.api.port, host: ObliviousWorld.apiHost)
        let answer = try await other.get(url, authorization: Self.alice)
        try expect(answer.status == 200, "the API behind the gateway answered \(answer.status)")
        let token = try await other.token(for: url, authorization: Self.alice)
        let relayLog = await oblivious.relayLog.lines(with: address).joined(separator: "\n")
        let gatewayLog = await oblivious.gatewayLog.lines(with: ObliviousWorld.apiHost).joined(separator: "\n")
        try expect(relayLog.contains(address), "the relay's log does not show the app: \(relayLog)")
        for plaintext in [ObliviousWorld.apiHost, ShapesAPI.shapes, Self.alice, token, answer.text] {
            try expect(!relayLog.contains(plaintext), "the relay's log holds plaintext")
        }
        try expect(gatewayLog.contains(ObliviousWorld.apiHost), "the gateway's log does not show the request: \(gatewayLog)")
        try expect(!gatewayLog.contains(address), "the gateway's log holds the app's address")
        return "200 \"\(answer.text)\"; the relay saw \(address) but no plaintext, the gateway saw \(ObliviousWorld.apiHost) but no address"
    }

    private func restarted(_ executable: URL, _ url: String) async throws -> ChildProcess.Run {
        try await call(with: executable, url: url, state: world.appState)
    }

    private func call(with executable: URL, state: String) async throws -> ChildProcess.Run {
        try await call(
            with: executable, url: world.url(ShapesAPI.shapes, port: world.api.port), state: world.folder.appending(path: state))
    }

    private func call(with executable: URL, url: String, state: URL) async throws -> ChildProcess.Run {
        let arguments = [
            "call", url, "-H", "Authorization: \(Self.alice)", "--bind", ShapesAPI.bindingHeader,
            "--config", world.configurationFile.path(percentEncoded: false), "--state", state.path(percentEncoded: false),
            "--cacert", world.rootsFile.path(percentEncoded: false),
        ]
        return try await ChildProcess.run(executable, arguments, environment: ProcessInfo.processInfo.environment)
    }

    /// The status that a client without the SDK gets: it only validates the path and sends the given headers.
    private func plainStatus(
        _ path: String = ShapesAPI.shapes, port: Int, token: String?, authorization: String?
    ) async throws -> Int {
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: world.root.pem))
        var request = TransportRequest(url: try TransportURL(world.url(path, port: port)), policy: policy)
        if let token, let name = HTTPField.Name("Approov-Token") { request.headerFields[name] = token }
        if let authorization { request.headerFields[.authorization] = authorization }
        return try await transport.send(request).status
    }

    /// The answer to a copy of a request with this body, from a client without the SDK.
    private func plainResponse(to sent: TransportRequest, body: String) async throws -> TransportResponse {
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: world.root.pem))
        return try await transport.send(
            TransportRequest(
                url: sent.url, method: sent.method, headerFields: sent.headerFields, body: .bytes(Array(body.utf8)), policy: policy))
    }

    func expect(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws {
        guard holds else { throw DemoFailure(otherwise()) }
    }
}
