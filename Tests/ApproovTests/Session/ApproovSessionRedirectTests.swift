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

    @Test("a redirect is followed and the response names where it came from")
    func followed() async throws {
        let world = try world()
        let (_, response) = try await world.session().data(for: URLRequest("https://api.test/to/302?/there"))
        #expect(response.url?.absoluteString == "https://api.test/there")
        #expect(world.apiRequests.count == 2)
        #expect(world.apiRequests.allSatisfy { $0.headerFields[.approovToken] != nil })
    }

    @Test("to a host that is not protected go neither token, trace ID, credentials nor what the token was bound to")
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

    @Test("back at the first host, credentials that stayed behind do not return by themselves")
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

    @Test("another protected host gets its own token, bound to what an interceptor sets for it")
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

    @Test("another protected host without its binding is refused, not sent unbound")
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

    @Test("an error about a missing binding names the redirect only where one removed it, from the request or from the session")
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

    @Test("the response's URL is as the caller or the redirect spelt it, never as an interceptor changed it")
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
        "https to http is refused after a token was sent, and to a protected host from any host",
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

    @Test("https to http is refused from a host with pins that gets no tokens, too")
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

    @Test("https to http is refused also over a third host, which would carry a protected request's body along")
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

    @Test("each hop is judged by the configuration in force when it begins")
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

    @Test("a circle ends after as many hops as allowed")
    func circle() async throws {
        let world = try world()
        let session = try world.session(maximumRedirects: 5)
        world.api.value = { TransportResponse(status: 302, headerFields: [.location: "/again"], url: $0.url) }
        await #expect(throws: ApproovError(.redirectRefused, "")) { try await session.data(for: URLRequest("https://api.test/")) }
        #expect(world.apiRequests.count == 6)
    }

    @Test("with no redirects allowed the redirect itself is the response")
    func notFollowed() async throws {
        let world = try world()
        let (_, response) = try await world.session(maximumRedirects: 0).data(for: URLRequest("https://api.test/to/302?/there"))
        #expect(response.statusCode == 302)
        #expect(response.value(forHTTPHeaderField: "Location") == "/there")
    }

    @Test("bodies from memory and from a file are sent again with 307 and 308, and dropped with 303")
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
                    Issue.record("a body after 303")
                    return
                }
            } else {
                #expect(last.method == .post)
                guard case .bytes(Array("hello".utf8)) = last.body else {
                    Issue.record("no body after \(status)")
                    return
                }
            }
        }
    }
}
