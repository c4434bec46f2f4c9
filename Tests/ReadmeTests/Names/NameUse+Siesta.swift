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
        NameUse("$0.headers") { (_) async throws in
            var settings = ScopedConfiguration()
            settings.headers["X-Auth-Token"] = "t"
        },
        NameUse("authHeader with didSet") { (world) async throws in
            let holder: CredentialHolder = try CredentialHolder("Bearer a")
            let session = try session(world) { (settings: inout ApproovSessionConfiguration) in
                settings.credential = SessionCredential.header(
                    "Authorization", holder, for: [try HostPattern("api.test")], wipesOnChange: true)
            }
            try holder.update("Bearer b")
            _ = try await session.data(from: url)
            #expect(world.apiRequests.first?.headerFields[.authorization] == "Bearer b")
        },
        NameUse("wipeResources(), wipeResources(matching:)") { (world) async throws in
            let session = try session(world)
            await session.wipe()
            await session.wipe(WipeScope.hosts([try HostPattern("api.test")]))
        },
        NameUse("decorateRequests, mutateRequests, failedRequest") { (_) async throws in
            let interceptor: any RequestInterceptor = Decoration()
            #expect(try await interceptor.adapt(URLRequest(url: url)).value(forHTTPHeaderField: "X-Decorated") == "1")
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
            var settings: ApproovSessionConfiguration = ApproovSessionConfiguration()
            settings.transport = world.transport
            _ = try ApproovSession(service: nil, configuration: settings)
            _ = try ApproovSession(wrapping: URLSession(configuration: .ephemeral), service: world.service)
        },
    ]
}
