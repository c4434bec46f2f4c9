import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import APIClient

// Acceptance list: S1.11, S1.29, S2.34, S3.11, S3.18, S3.19, S3.21, S3.23, S3.26, S3.29, S3.30
@Suite(.timeLimit(.minutes(5))) struct EnvironmentSessionTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func environment(
        _ name: String, _ url: String = "https://api.test/", _ source: APIEnvironment.Source = .remote(configuration: nil),
        trust: APIEnvironment.Trust = .pathValidation, pins: Set<Pin> = []
    ) throws -> APIEnvironment {
        try APIEnvironment(name, baseURL: try #require(URL(string: url)), source: source, trust: trust, pins: pins)
    }

    /// A session over a transport, whose services come from a world.
    private func session(
        _ environment: APIEnvironment, _ transport: any HTTPTransport, world: World? = nil,
        folders: Shared<[String]> = Shared([])
    ) throws -> EnvironmentSession {
        try EnvironmentSession(
            environment, stateDirectory: folder.url, anchors: world.flatMap { TrustAnchors.of($0.account.root) }, logger: .silent,
            makeService: { _, state in
                folders.change { $0.append(state.lastPathComponent) }
                guard let world else { throw CocoaError(.fileNoSuchFile) }
                return world.service
            },
            wrapping: { _ in .ephemeral },
            configure: { environment, _, configuration in
                configuration.transport = transport
                struct Credential: RequestInterceptor {
                    let value: String
                    func adapt(_ request: URLRequest) async throws -> URLRequest {
                        var request = request
                        request.setValue(value, forHTTPHeaderField: "Authorization")
                        return request
                    }
                }
                configuration.interceptors = [Credential(value: "user of \(environment.name)")]
            })
    }

    private func status(_ session: ApproovSession, _ url: String = "https://api.test/") async throws -> Int {
        try await session.data(for: URLRequest(url)).1.statusCode
    }

    @Test("A request under way ends in its own environment, and later ones go to the new one with its credential")
    func drains() async throws {
        let gate = Gate()
        let transport = InProcessTransport { request in
            if request.url.target == "/slow" { try await gate.wait() }
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(bytes: Array(request.url.host.name.utf8)))
        }
        let api = try session(environment("a", "https://a.test/"), transport)
        let slow = Task { [session = api.session] in try await session.data(for: URLRequest("https://a.test/slow")).0 }
        #expect(await eventually { gate.waiterCount == 1 })
        try api.use(environment("b", "https://b.test/"))
        #expect(api.environment.name == "b")
        let url = api.environment.baseURL
        #expect(try await api.session.data(from: url).0 == Data("b.test".utf8))
        gate.open()
        #expect(try await slow.value == Data("a.test".utf8))
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["user of a", "user of b"])
    }

    @Test("The client calls below the base URL of its environment, with its settings; a copy stays where it was")
    func client() async throws {
        let transport = InProcessTransport { request in
            TransportResponse(
                status: 200, headerFields: [.contentType: "application/json"], url: request.url,
                body: ResponseBody(bytes: Array("\"\(request.url.text) \(request.headerFields[.acceptLanguage] ?? "")\"".utf8)))
        }
        let api = try EnvironmentSession(
            environment("a", "https://a.test/v1/"), stateDirectory: folder.url, logger: .silent, configure: { $2.transport = transport },
            adjust: { $1.headers["Accept-Language"] = $0.name })
        let first = api.client
        #expect(try await first.get("items", as: String.self) == "https://a.test/v1/items a")
        try api.use(environment("b", "https://b.test/v2/"))
        #expect(try await api.client.get("items", as: String.self) == "https://b.test/v2/items b")
        #expect(try await first.get("items", as: String.self) == "https://a.test/v1/items a")
    }

    @Test("The settings of a session get its environment's service, which the app may make itself, and none where there is no account")
    func service() throws {
        let world = try World()
        let account = try ApproovConfiguration(world.account.initial(world.account.configuration()))
        let seen = Shared<[ApproovService?]>([])
        let transport = InProcessTransport(status: 200)
        let api = try EnvironmentSession(
            environment("a", "https://api.test/", .remote(configuration: account)), stateDirectory: folder.url,
            anchors: .of(world.account.root), logger: .silent,
            makeService: { _, folder in
                #expect(folder.lastPathComponent == "a")
                return world.service
            },
            wrapping: { _ in .ephemeral },
            configure: { _, service, configuration in
                configuration.transport = transport
                seen.change { $0.append(service) }
            })
        #expect(seen.value.count == 1 && seen.value[0] === world.service && api.current.service === world.service)
        try api.use(environment("b"))
        #expect(seen.value.count == 2 && seen.value[1] == nil && api.current.service == nil)
    }

    /// Notes the cookies that requests carry.
    private struct CookieWitness: RequestInterceptor {
        let cookies: Shared<[String?]>

        func adapt(_ request: URLRequest) async throws -> URLRequest {
            cookies.change { $0.append(request.value(forHTTPHeaderField: "Cookie")) }
            return request
        }
    }

    @Test("A cookie stays in the session that got it: neither another environment nor a later session of the same one sends it")
    func cookies() async throws {
        // A host of this test alone, because the whole process shares the cookies of Foundation's default session.
        let host = "cookies-of-environments.test"
        let url = "https://\(host)/"
        let recordings = folder.url.appending(path: "recordings")
        try FileManager.default.createDirectory(at: recordings, withIntermediateDirectories: false)
        let head = #"{"request":{"method":"GET","url":"\#(url)"},"response":{"status":200,"fields":["Set-Cookie: id=1; Path=/"]}}"#
        try folder.write(head, to: "recordings/1.json")
        let local = APIEnvironment.Source.local(recordings: recordings)
        let transport = InProcessTransport { request in
            TransportResponse(status: 200, headerFields: [.setCookie: "id=1; Path=/"], url: request.url)
        }
        let cookies = Shared<[String?]>([])
        let api = try EnvironmentSession(
            environment("a", url), stateDirectory: folder.url, logger: .silent,
            configure: { _, _, configuration in
                configuration.transport = transport
                configuration.interceptors = [CookieWitness(cookies: cookies)]
            })
        let others = try [
            environment("b", url), environment("a", url), environment("local", url, local), environment("local", url, local),
            environment("a", url),
        ]
        for _ in 1...2 { _ = try await status(api.session, url) }
        for environment in others {
            try api.use(environment)
            for _ in 1...2 { _ = try await status(api.session, url) }
        }
        func seen(by sessions: Int) -> [String?] { (0..<2 * sessions).map { $0.isMultiple(of: 2) ? nil : "id=1" } }
        #expect(cookies.value == seen(by: 6))
        // The recording answered the requests of the two local sessions.
        #expect(transport.requests.map { $0.headerFields[.cookie] } == seen(by: 4))
        let shared = HTTPCookieStorage.shared.cookies ?? []
        #expect(!shared.contains { $0.domain == host })
    }

    @Test("Each session wraps the configuration that the app makes for its environment, whose timeouts and headers apply")
    func wrapped() async throws {
        let transport = InProcessTransport(status: 200)
        let api = try EnvironmentSession(
            environment("a"), stateDirectory: folder.url, logger: .silent, configure: { $2.transport = transport },
            wrapping: { environment in
                let configuration = URLSessionConfiguration.ephemeral
                configuration.timeoutIntervalForRequest = environment.name == "a" ? 7 : 9
                configuration.httpAdditionalHeaders = ["X-App": environment.name]
                return configuration
            })
        #expect(try await status(api.session) == 200)
        try api.use(environment("b"))
        #expect(try await status(api.session) == 200)
        let name = try #require(HTTPField.Name("X-App"))
        #expect(transport.requests.map { $0.headerFields[name] } == ["a", "b"])
        #expect(transport.requests.map(\.options.idleTimeout) == [.seconds(7), .seconds(9)])
    }

    @Test("Each attested environment has its own folder, and one that cannot be set up leaves the old one in use")
    func folders() async throws {
        let world = try World()
        let configuration = try ApproovConfiguration(world.account.initial(world.account.configuration()))
        let folders = Shared<[String]>([])
        let api = try session(
            environment("a", "https://api.test/", .remote(configuration: configuration)), world.transport, world: world, folders: folders)
        try api.use(environment("b", "https://api.test/", .remote(configuration: configuration)))
        #expect(folders.value == ["a", "b"] && api.current.service === world.service)
        #expect(try await status(api.session) == 200)
        #expect(world.apiRequests.first?.headerFields.contains(try #require(HTTPField.Name("Approov-Token"))) == true)

        let missing = folder.url.appending(path: "missing")
        let error = try #require(throws: APIError.self) { try api.use(environment("c", "https://api.test/", .local(recordings: missing))) }
        #expect(error.code == .invalidEnvironment && error.message.contains("c") && "\(error)".contains(missing.path))
        #expect(api.environment.name == "b")
    }

    @Test("A local environment answers from its recording and never from a network, without a token")
    func local() async throws {
        let recordings = folder.url.appending(path: "recordings")
        try FileManager.default.createDirectory(at: recordings, withIntermediateDirectories: false)
        let text = #"{"request":{"method":"GET","url":"https://api.test/items"},"response":{"status":203}}"#
        try folder.write(text, to: "recordings/1.json")
        let transport = InProcessTransport(status: 500)
        let api = try session(environment("local", "https://api.test/", .local(recordings: recordings), trust: .pinned), transport)
        #expect(api.current.service == nil)
        #expect(try await status(api.session, "https://api.test/items") == 203)
        await #expect(throws: ApproovError(.recordingMissing, "")) { try await status(api.session, "https://api.test/others") }
        #expect(transport.requests.isEmpty)
    }

    @Test("The trust pinned needs pins or an account, and refuses hosts that have none")
    func pinned() async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
        let transport = InProcessTransport(certificates: ["api.test": leaf]) { TransportResponse(status: 200, url: $0.url) }
        #expect(throws: APIError(.invalidEnvironment, "")) { try session(environment("a", trust: .pinned), transport) }
        let other = try TestKey().pin
        let world = try World(account: TestAccount(), certificates: [:])
        func api(_ pin: Pin) throws -> EnvironmentSession {
            let environment = try environment("a", trust: .pinned, pins: [pin, other])
            return try EnvironmentSession(
                environment, stateDirectory: folder.url, anchors: .of(root), logger: .silent, makeService: { _, _ in world.service },
                wrapping: { _ in .ephemeral }, configure: { $2.transport = transport })
        }
        #expect(try await status(api(leaf.pin).session) == 200)
        await #expect(throws: ApproovError(.pinningError, "")) { try await status(api(TestKey().pin).session) }
        await #expect(throws: ApproovError(.pinningError, "")) { try await status(api(leaf.pin).session, "https://other.test/") }
    }

    @Test("Switched-off validation accepts any certificate of an open host, and changes nothing for a protected one")
    func dangerous() async throws {
        guard APIEnvironment.isDebugBuild else { return }
        let stranger = try TestPKI.leaf(hosts: ["wrong.test"], issuer: TestPKI.root())
        let world = try World(certificates: ["api.test": stranger, "open.test": stranger])
        let configuration = try ApproovConfiguration(world.account.initial(world.account.configuration()))
        for (host, isAccepted) in [("open.test", true), ("api.test", false)] {
            let environment = try environment(
                "a", "https://\(host)/", .remote(configuration: configuration), trust: .dangerouslyDisabled)
            let api = try session(environment, world.transport, world: world)
            if isAccepted {
                #expect(try await status(api.session, "https://\(host)/") == 200)
            } else {
                await #expect(throws: ApproovError(.pinningError, "")) { try await status(api.session, "https://\(host)/") }
            }
        }
    }
}
