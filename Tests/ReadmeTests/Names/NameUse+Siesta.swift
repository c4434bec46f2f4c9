import APIClient
import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

/// Adds a header, as Siesta's decorations and Conduit's middleware do.
struct Decoration: RequestInterceptor {
    func adapt(_ request: URLRequest) async throws -> URLRequest {
        var request = request
        request.setValue("1", forHTTPHeaderField: "X-Decorated")
        return request
    }
}

/// Fails every request.
private struct Refusal: RequestInterceptor {
    func adapt(_ request: URLRequest) async throws -> URLRequest { throw CocoaError(.userCancelled) }
}

extension NameUse {
    static let siesta: [NameUse] = [
        NameUse("Service(baseURL:)") { (world) async throws in
            let client = try APIClient(base: url("https://api.test/v1/"), session: session(world))
            #expect(try await client.resource("items").send(.get).head.url?.path == "/v1/items")
        },
        NameUse(#"resource("/items"), Resource.relative, Resource.child"#) { (world) async throws in
            let client = try client(world)
            let items: Resource = try client.resource("items")
            #expect(try items.relative("7").url.path == "/7")
            #expect(try items.child("a/b").url.absoluteString == "https://api.test/items/a%2Fb")
        },
        NameUse("resource(absoluteURL:)") { (world) async throws in
            let client = try client(world)
            #expect(client.resource(absolute: url("https://other.test/a")).url.host() == "other.test")
        },
        NameUse(#"configure("**"), configure(whenURLMatches:), description:"#) { (world) async throws in
            let client = try client(world).configured { rules in
                // The closure changes the client's RequestRules.
                try rules.configure("**", description: "all") { $0.headers["X-All"] = "1" }
                try rules.configure(description: "items", where: { $0.path == "/items" }) { $0.headers["X-Items"] = "1" }
            }
            #expect(client.rules.explain(url("https://api.test/items")) == ["all: https://api.test:443/**", "items: by a closure"])
        },
        NameUse("$0.headers") { (world) async throws in
            let token = Shared("a")
            let client = try client(world).configured { rules in
                try rules.configure("items", description: "items") { (settings: inout ScopedConfiguration) in
                    settings.headers["X-Auth-Token"] = token.value
                }
            }
            _ = try await client.resource("items").send(.get)
            token.value = "b"
            for path in ["items", "others"] { _ = try await client.resource(path).send(.get) }
            #expect(world.apiRequests.map { field("X-Auth-Token", of: $0) } == ["a", "b", nil])
        },
        NameUse("authHeader with didSet") { (world) async throws in
            let holder: CredentialHolder = try CredentialHolder("Bearer a")
            let session = try session(world) { (settings: inout ApproovSessionConfiguration) in
                settings.credential = SessionCredential.header(
                    "Authorization", holder, for: [try HostPattern("api.test")], wipesOnChange: true)
            }
            let gate = Gate()
            world.api.value = { request in
                if request.url.target == "/late" { try await gate.wait() }
                return TransportResponse(status: 200, url: request.url)
            }
            let late = Task { try await session.data(from: url("https://api.test/late")) }
            #expect(await eventually { gate.waiterCount == 1 })
            try holder.update("Bearer b")
            await #expect(throws: CancellationError.self) { try await late.value }
            _ = try await session.data(from: url)
            #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Bearer a", "Bearer b"])
        },
        NameUse("wipeResources()") { (world) async throws in
            let (client, gate) = try wipedClient(world)
            let late = Task { try await client.session.data(from: url("https://api.test/late")) }
            let resource = try client.resource("items")
            _ = try await resource.cachedData()
            #expect(await eventually { gate.waiterCount == 1 })
            await client.session.wipe()
            await #expect(throws: CancellationError.self) { try await late.value }
            #expect(try await !resource.cachedData().isFromCache)
            // Without the setting ApproovSessionConfiguration.tracksRequests the request stays.
            let untracked = try session(world)
            let kept = Task { try await untracked.data(from: url("https://api.test/late")).0 }
            #expect(await eventually { gate.waiterCount == 1 })
            await untracked.wipe()
            gate.open()
            #expect(try await kept.value == Data("/late".utf8))
        },
        NameUse("wipeResources(matching:)") { (world) async throws in
            let (client, gate) = try wipedClient(world)
            let hosts = ["v1.api.test", "other.test"]
            let late = hosts.map { host in Task { try await client.session.data(from: url("https://\(host)/late")).0 } }
            let resources: [Resource] = hosts.map { client.resource(absolute: url("https://\($0)/items")) }
            for resource in resources { _ = try await resource.cachedData() }
            #expect(await eventually { gate.waiterCount == 2 })
            await client.session.wipe(WipeScope.hosts([try HostPattern("*.api.test")]))
            await #expect(throws: CancellationError.self) { try await late[0].value }
            gate.open()
            #expect(try await late[1].value == Data("/late".utf8))
            #expect(try await !resources[0].cachedData().isFromCache)
            #expect(try await resources[1].cachedData().isFromCache)
            try await client.wipe(matching: "others/**")
            let other = try URLGlob("https://other.test/items")
            #expect(try await resources[1].cachedData().isFromCache)
            await client.session.wipe(WipeScope.urls([other]))
            #expect(try await !resources[1].cachedData().isFromCache)
        },
        NameUse("decorateRequests, mutateRequests, failedRequest") { (world) async throws in
            let interceptor: any RequestInterceptor = Decoration()
            #expect(try await interceptor.adapt(URLRequest(url: url)).value(forHTTPHeaderField: "X-Decorated") == "1")
            let session = try session(world) { $0.interceptors = [interceptor, Refusal()] }
            let error = await #expect(throws: ApproovError.self) { try await session.data(from: url) }
            #expect(error?.cause is CocoaError && world.apiRequests.isEmpty)
        },
        NameUse("forced cut-off by whenURLMatches") { (world) async throws in
            let session = try session(world) { (settings: inout ApproovSessionConfiguration) in
                settings.allowedHosts = AllowedHosts([try HostPattern("other.test")], refusesPrivateAddresses: true)
            }
            #expect(await codeThrown(as: ApproovError.self) { try await session.data(from: url) } == .hostNotAllowed)
        },
        NameUse("RequestError(userMessage:cause:)") { (_) async throws in
            let error = ApproovError(.hostNotAllowed, "not this host", cause: CocoaError(.fileNoSuchFile))
            #expect(error.code == .hostNotAllowed && error.message == "not this host" && error.cause != nil)
        },
        NameUse("NetworkingProvider") { (world) async throws in
            let transport = InProcessTransport(status: 203)
            var settings: ApproovSessionConfiguration = ApproovSessionConfiguration()
            settings.transport = transport
            let own = try ApproovSession(service: nil, configuration: settings)
            #expect(try await own.data(from: url).1.statusCode == 203 && transport.requests.count == 1)
            let base = URLSessionConfiguration.ephemeral
            base.httpAdditionalHeaders = ["X-Own": "1"]
            let wrapper = try ApproovSession(wrapping: URLSession(configuration: base), service: world.service)
            _ = try await wrapper.data(from: url)
            #expect(field("X-Own", of: world.apiRequests.first) == "1")
            #expect(field("Approov-Token", of: world.apiRequests.first)?.isEmpty == false)
        },
    ]

    /// A client with a cache whose session tracks its requests; those for "/late" wait at a gate.
    private static func wipedClient(_ world: World) throws -> (APIClient, Gate) {
        let gate = Gate()
        world.api.value = { request in
            if request.url.target == "/late" { try await gate.wait() }
            return TransportResponse(
                status: 200, headerFields: [.cacheControl: "max-age=60"], url: request.url,
                body: ResponseBody(bytes: Array(request.url.target.utf8)))
        }
        var client = try APIClient(base: url("https://api.test/"), session: session(world) { $0.tracksRequests = true })
        client.cache = DataCache(capacity: 1 << 20)
        return (client, gate)
    }
}
