import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct ApproovSessionRedirectTests {
    /// A world whose API redirects by path: `/to/STATUS?LOCATION`.
    private func world(_ hosts: [String: HostSettings] = ["api.test": .pinned]) throws -> World {
        let world = try World(hosts: hosts)
        world.api.value = { request in
            let parts = request.url.target.split(separator: "?", maxSplits: 1)
            guard parts.count == 2, parts[0].hasPrefix("/to/"), let status = Int(parts[0].dropFirst(4)) else {
                return TransportResponse(status: 200, url: request.url, body: ResponseBody(bytes: Array(request.url.target.utf8)))
            }
            return TransportResponse(status: status, headerFields: [.location: String(parts[1])], url: request.url)
        }
        return world
    }

    @Test("A redirect is followed, each hop carries a token, and the response has the final URL")
    func followed() async throws {
        let world = try world()
        let (_, response) = try await world.session().data(for: URLRequest("https://api.test/to/302?/there"))
        #expect(response.url?.absoluteString == "https://api.test/there")
        #expect(world.apiRequests.count == 2)
        #expect(world.apiRequests.allSatisfy { $0.headerFields[.approovToken] != nil })
    }

    @Test("A redirect to an unprotected host carries neither token, trace ID, credentials nor the bound header")
    func noTokenElsewhere() async throws {
        let world = try world()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = [
            "X-Session": "secret", "Authorization": "Bearer secret", "Accept": "text/plain", "X-Auth-Token": "secret",
        ]
        let session = try world.session(configuration: configuration, bindHeader: "X-Session")
        let (_, response) = try await session.data(
            for: URLRequest(
                "https://api.test/to/307?https://b.test/x", ["Cookie": "secret=1", "Proxy-Authorization": "secret", "X-Api-Key": "secret"]))
        #expect(response.statusCode == 200)
        let last = try #require(world.apiRequests.last)
        #expect(last.url.host.name == "b.test")
        #expect(last.headerFields.map(\.name) == [.accept])
    }

    @Test("Credentials removed on a redirect to another host do not return when a redirect leads back")
    func thereAndBack() async throws {
        let world = try world()
        let session = try world.session(bindHeader: "Authorization", unboundRequests: .allowed)
        let back = "https://b.test/to/302?https://api.test/end"
        _ = try await session.data(for: URLRequest("https://api.test/to/302?\(back)", ["Authorization": "Bearer secret"]))
        let last = try #require(world.apiRequests.last)
        #expect(last.url.text == "https://api.test/end")
        #expect(last.headerFields[.authorization] == nil)
        #expect(try pay(ofToken: try #require(last.headerFields[.approovToken])) == nil)
    }

    @Test("Another protected host gets its own token, bound to the header that an interceptor sets for it")
    func ownToken() async throws {
        struct PerHost: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                var request = request
                request.setValue("Bearer for \(request.url?.host() ?? "")", forHTTPHeaderField: "Authorization")
                return request
            }
        }
        let world = try world(["api.test": .pinned, "b.test": .pinned])
        let session = try world.session(interceptors: [PerHost()], bindHeader: "Authorization")
        _ = try await session.data(for: URLRequest("https://api.test/to/302?https://b.test/x"))
        for request in world.apiRequests {
            let token = try #require(request.headerFields[.approovToken])
            #expect(try pay(ofToken: token) == Binding.payHash(of: "Bearer for \(request.url.host.name)"))
        }
        #expect(Set(world.attester.requests.map(\.host)) == ["api.test", "b.test"])
    }

    @Test("A redirect to another protected host without its binding header is refused, not sent unbound")
    func bindingMissing() async throws {
        let world = try world(["api.test": .pinned, "b.test": .pinned])
        let session = try world.session(bindHeader: "Authorization")
        let error = await #expect(throws: ApproovError.self) {
            try await session.data(for: URLRequest("https://api.test/to/302?https://b.test/x", ["Authorization": "Bearer secret"]))
        }
        #expect(error?.code == .bindingMissing)
        #expect(error?.message.contains("a redirect to another origin removed Authorization") == true, "\(String(describing: error))")
        #expect(world.apiRequests.count == 1)
    }

    @Test("The error for a missing binding mentions a redirect only if a redirect removed the header")
    func bindingNeverThere() async throws {
        let world = try world(["api.test": .pinned])
        let without = try world.session(bindHeader: "Authorization")
        let never = await #expect(throws: ApproovError.self) {
            try await without.data(for: URLRequest("https://else.test/to/302?https://api.test/x"))
        }
        #expect(never?.code == .bindingMissing && never?.message.contains("the request lacks Authorization") == true)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["Authorization": "Bearer secret"]
        let with = try world.session(configuration: configuration, bindHeader: "Authorization")
        let removed = await #expect(throws: ApproovError.self) {
            try await with.data(for: URLRequest("https://else.test/to/302?https://api.test:8443/x"))
        }
        #expect(removed?.code == .bindingMissing && removed?.message.contains("redirect") == true)
    }

    @Test("The response has the URL as the caller or the redirect spelled it, not as an interceptor changed it")
    func responseURL() async throws {
        struct Substituting: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                var request = request
                request.url?.append(queryItems: [URLQueryItem(name: "key", value: "secret")])
                return request
            }
        }
        let world = try World()
        world.api.value = { request in
            guard request.url.target.hasPrefix("/to") else { return TransportResponse(status: 200, url: request.url) }
            return TransportResponse(status: 302, headerFields: [.location: "there?x=1"], url: request.url)
        }
        let session = try world.session(interceptors: [Substituting()])
        let (_, first) = try await session.data(for: URLRequest("https://API.test/shapes?a=1"))
        #expect(first.url?.absoluteString == "https://API.test/shapes?a=1")
        let (_, second) = try await session.data(for: URLRequest("https://api.test/to"))
        #expect(second.url?.absoluteString == "https://api.test/there?x=1")
        #expect(world.apiRequests.allSatisfy { $0.url.target.hasSuffix("key=secret") })
    }

    @Test(
        "A redirect to plain HTTP is refused if it leaves or reaches a protected host",
        arguments: [
            "https://api.test/to/302?http://else.test/", "https://api.test/to/302?http://api.test/",
            "https://else.test/to/302?http://api.test/",
        ])
    func downgrade(_ text: String) async throws {
        let world = try world()
        let session = try world.session()
        await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest(text)) }
        #expect(world.apiRequests.count == 1)
        #expect(world.apiRequests.allSatisfy { $0.url.isSecure })
    }

    @Test("A redirect to plain HTTP is also refused from a pinned host that gets no tokens")
    func downgradeWithoutToken() async throws {
        var pinnedOnly = HostSettings.pinned
        pinnedOnly.attested = false
        let world = try world(["api.test": .pinned, "pins.test": pinnedOnly])
        let session = try world.session()
        await #expect(throws: ApproovError(.redirectRefused, "")) {
            try await session.data(for: URLRequest("https://pins.test/to/307?http://else.test/"))
        }
        #expect(world.apiRequests.count == 1)
        #expect(world.apiRequests.allSatisfy { $0.headerFields[.approovToken] == nil })
    }

    @Test("After a protected host, a later hop to plain HTTP is refused too, because it would carry the body along")
    func downgradeOverThirdHost() async throws {
        let world = try world()
        let session = try world.session()
        let detour = "https://else.test/to/307?http://else.test/"
        await #expect(throws: ApproovError(.redirectRefused, "")) {
            try await session.upload(
                for: URLRequest("https://api.test/to/307?\(detour)", method: "POST"), from: Data("secret".utf8))
        }
        #expect(world.apiRequests.map(\.url.isSecure) == [true, true])
    }

    @Test("Each hop follows the configuration in force when the hop begins")
    func configurationBetweenHops() async throws {
        let world = try world()
        let session = try world.session()
        let next = try world.account.signed(
            world.account.configuration(version: 2, hosts: ["api.test": .pinned, "b.test": .pinned]))
        let redirecting = world.api.value
        let service = world.service
        world.api.value = { request in
            if request.url.host.name == "api.test" { _ = await service.keeper.offer([next]) }
            return try await redirecting(request)
        }
        _ = try await session.data(for: URLRequest("https://api.test/to/302?https://b.test/x"))
        #expect(world.apiRequests.map { $0.headerFields[.approovToken] != nil } == [true, true])
        #expect(Set(world.attester.requests.map(\.host)) == ["api.test", "b.test"])
        #expect(world.apiRequests.last?.policy.hasRule(for: try CanonicalHost("b.test")) == true)
    }

    @Test("A redirect loop ends after the allowed number of redirects")
    func circle() async throws {
        let world = try world()
        let session = try world.session(maximumRedirects: 5)
        world.api.value = { TransportResponse(status: 302, headerFields: [.location: "/again"], url: $0.url) }
        await #expect(throws: ApproovError(.redirectRefused, "")) { try await session.data(for: URLRequest("https://api.test/")) }
        #expect(world.apiRequests.count == 6)
    }

    @Test("If no redirects are allowed, the redirect itself is the response")
    func notFollowed() async throws {
        let world = try world()
        let (_, response) = try await world.session(maximumRedirects: 0).data(for: URLRequest("https://api.test/to/302?/there"))
        #expect(response.statusCode == 302)
        #expect(response.value(forHTTPHeaderField: "Location") == "/there")
    }

    @Test("After 307 and 308 the body is sent again, and after 303 it is dropped")
    func bodies() async throws {
        let world = try world()
        let session = try world.session()
        for status in [307, 308, 303] {
            let request = URLRequest("https://api.test/to/\(status)?/there", method: "POST", ["Content-Type": "text/plain"])
            _ = try await session.upload(for: request, from: Data("hello".utf8))
            let last = try #require(world.apiRequests.last)
            if status == 303 {
                #expect(last.method == .get)
                #expect(last.headerFields[.contentType] == nil)
                guard case .none = last.body else {
                    Issue.record("the body was sent after 303")
                    return
                }
            } else {
                #expect(last.method == .post)
                guard case .bytes(Array("hello".utf8)) = last.body else {
                    Issue.record("the body was not sent after \(status)")
                    return
                }
            }
        }
    }
}
