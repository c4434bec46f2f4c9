import ApproovBase
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import OHTTP
import Testing

@testable import Approov

@Suite("A request over Oblivious HTTP")
struct ObliviousChannelTests {
    /// A world with an oblivious host and a direct one, in which `isChunked` makes every oblivious request go in chunks.
    private func world(isChunked: Bool = false) throws -> World {
        let world = try World(
            hosts: ["api.test": .pinned.with { $0.oblivious = true }, "plain.test": .pinned], chunked: isChunked ? true : nil)
        return world
    }

    @Test("The token travels inside the sealed request, and the relay sees none of the caller's header fields")
    func inside() async throws {
        let world = try world()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["X-Everywhere": "1", "User-Agent": "The App"]
        let session = try world.session(configuration: configuration, bindHeader: "Authorization")
        let (data, response) = try await session.data(
            for: URLRequest("https://api.test/shapes?a=1", method: "POST", ["Authorization": "Bearer abc", "Cookie": "a=b"], body: "hello"))
        #expect(String(decoding: data, as: UTF8.self) == "/shapes?a=1")
        #expect(response.statusCode == 200)
        #expect(response.url?.absoluteString == "https://api.test/shapes?a=1")
        #expect(response.value(forHTTPHeaderField: "Content-Type") == "text/plain")
        #expect(world.apiRequests.isEmpty)

        let outer = try #require(world.relayRequests.first)
        #expect(outer.method == .post)
        #expect(outer.headerFields.map(\.name.canonicalName).sorted() == ["content-type", "user-agent"])
        #expect(outer.headerFields[.userAgent] == "approov")
        #expect(!outer.isIdempotent && !outer.options.decompresses)

        let inner = try #require(world.gateway.opened.value.first)
        #expect(inner.head.method == .post && inner.head.scheme == "https" && inner.head.authority == "api.test")
        #expect(inner.head.path == "/shapes?a=1")
        #expect(inner.body == Data("hello".utf8))
        let token = try #require(inner.head.headerFields[.approovToken])
        #expect(try pay(ofToken: token) == Binding.payHash(of: "Bearer abc"))
        #expect(inner.head.headerFields[.approovTraceID] == nil)
        #expect(inner.head.headerFields[.authorization] == "Bearer abc")
        #expect(inner.head.headerFields[.cookie] == "a=b")
        #expect(inner.head.headerFields[.userAgent] == "The App")
        #expect(inner.head.headerFields[.date] == HTTPDate.format(world.clock.date))
    }

    @Test("The host gets `Accept-Encoding: identity` unless the caller sets another value", arguments: [nil, "br"])
    func encoding(own: String?) async throws {
        let world = try world()
        let request = URLRequest("https://api.test/", own.map { ["Accept-Encoding": $0] } ?? [:])
        _ = try await world.session().data(for: request)
        let inner = try #require(world.gateway.opened.value.first)
        #expect(inner.head.headerFields[values: .acceptEncoding] == [own ?? "identity"])
    }

    @Test("Two small sealed requests have the same length but different encapsulated keys")
    func unlinkable() async throws {
        let world = try world()
        let session = try world.session()
        for path in ["a", "bcdefg"] { _ = try await session.data(for: URLRequest("https://api.test/\(path)")) }
        let messages = world.gateway.received.value
        try #require(messages.count == 2)
        for message in messages {
            // Without header, encapsulated key and tag, every small message has the same length.
            let inner = message.count - 7 - 32 - 16
            #expect(inner == 1_024)
        }
        #expect(messages[0].prefix(7) == messages[1].prefix(7))
        #expect(messages[0].dropFirst(7).prefix(32) != messages[1].dropFirst(7).prefix(32))
    }

    @Test("A request to a host that is not oblivious goes direct, not over the relay")
    func direct() async throws {
        let world = try world()
        _ = try await world.session().data(for: URLRequest("https://plain.test/"))
        #expect(world.apiRequests.count == 1 && world.relayRequests.isEmpty)
    }

    @Test("A host has one token for direct requests and another for oblivious ones, and both stay cached")
    func tokensCachedApart() async throws {
        let world = try World()
        let session = try world.session()
        func call(as version: Int64, isOblivious: Bool) async throws {
            let hosts = ["api.test": HostSettings.pinned.with { $0.oblivious = isOblivious }]
            let next = try world.account.signed(
                world.account.configuration(version: version, hosts: hosts, oblivious: world.gateway.settings))
            world.authority.script.change { $0.configurations = [next] }
            #expect(try await world.service.refreshConfiguration())
            _ = try await session.data(for: URLRequest("https://api.test/"))
        }
        _ = try await session.data(for: URLRequest("https://api.test/"))
        try await call(as: 2, isOblivious: true)
        let direct = try #require(world.apiRequests.first?.headerFields[.approovToken])
        let inside = try #require(world.gateway.opened.value.first?.head.headerFields[.approovToken])
        #expect(direct != inside)
        #expect(world.authority.seen.value.attestations.map(\.host) == ["api.test", "api.test"])
        // Both tokens stayed in the cache.
        try await call(as: 3, isOblivious: false)
        #expect(world.apiRequests.last?.headerFields[.approovToken] == direct)
        #expect(world.authority.seen.value.attestations.count == 2)
    }

    @Test("Plain HTTP to an oblivious host is refused before anything is sent")
    func plainHTTP() async throws {
        let world = try world()
        #expect(
            await codeThrown(as: ApproovError.self) {
                try await world.session().data(for: URLRequest("http://api.test/"))
            } == .pinningError)
        #expect(world.transport.requests.isEmpty)
    }

    @Test(
        "If the gateway refuses the key, the client gets a newer configuration and seals the request again, once",
        arguments: [400, 401], [false, true])
    func keyRotation(status: Int, isChunked: Bool) async throws {
        let world = try world(isChunked: isChunked)
        let session = try world.session()
        // The token is cached, so that the configuration can come only from the check after the refusal.
        let url = try #require(URL(string: "https://api.test/x"))
        #expect(await world.service.fetchToken(for: url).status == .success)
        let old = world.gateway.settings
        world.gateway.keyring.value = try GatewayKeyring([GatewayKey(id: 2)])
        if status == 401 {
            world.gateway.script.change { script in
                script.fault = { request in
                    let message = [UInt8](try await request.body.collected(upTo: 1 << 20))
                    return message.first == 1 ? TransportResponse(status: 401, url: request.url) : nil
                }
            }
        }
        var new = world.gateway.settings
        #expect(new != old)
        new.chunked = isChunked ? true : nil
        let configuration = try world.account.signed(
            world.account.configuration(version: 2, hosts: ["api.test": .pinned.with { $0.oblivious = true }], oblivious: new))
        world.authority.script.change { $0.configurations = [configuration] }
        let (data, _) = try await session.data(from: url)
        #expect(String(decoding: data, as: UTF8.self) == "/x")
        #expect(world.relayRequests.count == 2)
    }

    @Test("A newer configuration with the same key does not make the client send a refused request again")
    func sameKey() async throws {
        let world = try world()
        let session = try world.session()
        let url = try #require(URL(string: "https://api.test/x"))
        #expect(await world.service.fetchToken(for: url).status == .success)
        let next = world.account.configuration(
            version: 2, hosts: ["api.test": .pinned.with { $0.oblivious = true }, "new.test": .pinned], oblivious: world.gateway.settings)
        let signed = try world.account.signed(next)
        world.authority.script.change { $0.configurations = [signed] }
        // The gateway runs the request, and the relay claims that the key was refused.
        let gateway = world.gateway
        gateway.script.change { script in
            script.fault = { request in
                let message = [UInt8](try await request.body.collected(upTo: 1 << 20))
                _ = try gateway.keyring.value.decapsulate(message)
                return TransportResponse(status: 401, url: request.url)
            }
        }
        let error = await #expect(throws: ApproovError.self) {
            try await session.data(for: URLRequest("https://api.test/x", method: "POST"))
        }
        #expect(error?.code == .obliviousError)
        #expect(world.service.configuration.version == 2)
        #expect(world.relayRequests.count == 1)
    }

    @Test("If no newer configuration replaces a refused key, the request fails after one attempt")
    func keyRefused() async throws {
        let world = try world()
        let session = try world.session()
        world.gateway.keyring.value = try GatewayKeyring([GatewayKey(id: 2)])
        let error = await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest("https://api.test/x")) }
        #expect(error?.code == .obliviousError && error?.message.contains("approov oblivious -set") == true)
        #expect(world.relayRequests.count == 1)
        #expect(world.gateway.opened.value.isEmpty)
    }

    @Test(
        "If its date is refused, a request is repeated once with the gateway's date, and the next one uses the clock again",
        arguments: [false, true])
    func date(isChunked: Bool) async throws {
        let world = try world(isChunked: isChunked)
        let session = try world.session()
        let gatewayDate = HTTPDate.format(world.clock.date.addingTimeInterval(3600))
        world.gateway.script.change { script in
            script.host = { request in
                guard request.head.headerFields[.date] != gatewayDate else {
                    return BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data("now".utf8))
                }
                let problem = JSONValue.object(["type": .string(OHTTPProblemType.date)]).serialized()
                return BinaryHTTPResponse(
                    head: HTTPResponse(status: .badRequest, headerFields: [.contentType: "application/problem+json", .date: gatewayDate]),
                    body: Data(problem))
            }
        }
        let (data, _) = try await session.data(for: URLRequest("https://api.test/"))
        #expect(String(decoding: data, as: UTF8.self) == "now")
        #expect(world.relayRequests.count == 2)
        let messages = world.gateway.received.value
        try #require(messages.count == 2)
        #expect(messages[0].dropFirst(7).prefix(32) != messages[1].dropFirst(7).prefix(32))
        // The next request starts with the clock's date again.
        _ = try await session.data(for: URLRequest("https://api.test/"))
        #expect(world.gateway.opened.value[2].head.headerFields[.date] == HTTPDate.format(world.clock.date))
    }

    /// Refuses every date except the gateway's own, which is `seconds` ahead of the device's; with 0, refuses every date.
    ///
    /// The problem states the window if there is one.
    private func refuseDates(_ world: World, ahead seconds: Double, window: Int64? = nil) {
        let own = HTTPDate.format(world.clock.date.addingTimeInterval(seconds))
        var problem = ["type": JSONValue.string(OHTTPProblemType.date)]
        problem["window"] = window.map(JSONValue.integer)
        let content = Data(JSONValue.object(problem).serialized())
        world.gateway.script.change { script in
            script.host = { request in
                let isAccepted = request.head.headerFields[.date] == own && seconds != 0
                guard !isAccepted else { return BinaryHTTPResponse(head: HTTPResponse(status: .ok)) }
                return BinaryHTTPResponse(
                    head: HTTPResponse(status: .badRequest, headerFields: [.contentType: "application/problem+json", .date: own]),
                    body: content)
            }
        }
    }

    @Test(
        "If a date is refused although the clocks agree within a minute, a POST is not repeated, but a PUT is",
        arguments: [0, 30, 60, -3, -5] as [Double], [false, true])
    func heldBack(ahead: Double, isChunked: Bool) async throws {
        // If the clocks agree, the relay held the request back or sent it before.
        let world = try world(isChunked: isChunked)
        refuseDates(world, ahead: ahead)
        let (_, response) = try await world.session().data(for: URLRequest("https://api.test/", method: "POST", body: "x"))
        #expect(response.statusCode == 400)
        #expect(world.relayRequests.count == 1)
        _ = try await world.session().data(for: URLRequest("https://api.test/", method: "PUT", body: "x"))
        #expect(world.relayRequests.count == 3)
    }

    @Test("If the gateway's date lies between the request and its late answer, a POST with a refused date is not repeated")
    func answerHeldBack() async throws {
        let world = try world()
        refuseDates(world, ahead: 100)
        let (gateway, clock) = (world.gateway, world.clock)
        world.gateway.script.change { script in
            script.fault = { request in
                guard gateway.received.value.isEmpty else { return nil }
                gateway.script.change { $0.fault = nil }
                let answer = try await gateway.respond(to: request)
                // The gateway's date was right when the gateway got the request: the relay may have delayed it.
                clock.advance(by: .seconds(3_600))
                return answer
            }
        }
        let (_, response) = try await world.session().data(for: URLRequest("https://api.test/", method: "POST", body: "x"))
        #expect(response.statusCode == 400)
        #expect(world.relayRequests.count == 1)
    }

    @Test(
        "A POST whose date is refused because the device's clock is wrong is sent once more",
        arguments: [3_600, 70, 61, -6, -7, -70, -3_600] as [Double])
    func wrongClock(ahead: Double) async throws {
        let world = try world()
        refuseDates(world, ahead: ahead)
        let (_, response) = try await world.session().data(for: URLRequest("https://api.test/", method: "POST", body: "x"))
        #expect(response.statusCode == 200)
        #expect(world.relayRequests.count == 2)
    }

    @Test(
        "Whether a POST with a refused date is sent once more depends on the window that the gateway states, or on the usual one",
        arguments: [(10, 1, 2), (100, 3_600, 1), (3_700, 3_600, 2), (100, 0, 2), (30, -1, 1), (100, 86_401, 2)])
    func statedWindow(ahead: Int, window: Int, requests: Int) async throws {
        let world = try world()
        refuseDates(world, ahead: Double(ahead), window: Int64(window))
        _ = try await world.session().data(for: URLRequest("https://api.test/", method: "POST", body: "x"))
        #expect(world.relayRequests.count == requests)
    }

    @Test("A Date field that the caller set is not replaced, and the gateway's refusal is the response", arguments: [false, true])
    func ownDate(isChunked: Bool) async throws {
        let world = try world(isChunked: isChunked)
        refuseDates(world, ahead: 3_600)
        let own = "Sun, 06 Nov 1994 08:49:37 GMT"
        let (_, response) = try await world.session().data(for: URLRequest("https://api.test/", ["Date": own]))
        #expect(response.statusCode == 400)
        #expect(world.gateway.opened.value.map { $0.head.headerFields[values: .date] } == [[own]])
    }

    @Test("If the gateway's own date is refused too, the caller gets the problem response after that one repeat", arguments: [false, true])
    func dateStays(isChunked: Bool) async throws {
        let world = try world(isChunked: isChunked)
        world.gateway.script.change { script in
            script.host = { _ in
                BinaryHTTPResponse(
                    head: HTTPResponse(
                        status: .badRequest,
                        headerFields: [.contentType: "application/problem+json", .date: "Sun, 06 Nov 1994 08:49:37 GMT"]),
                    body: Data(JSONValue.object(["type": .string(OHTTPProblemType.date)]).serialized()))
            }
        }
        let (data, response) = try await world.session().data(for: URLRequest("https://api.test/"))
        #expect(response.statusCode == 400 && !data.isEmpty)
        #expect(world.relayRequests.count == 2)
    }

    @Test(
        "An answer that is not a valid encapsulated response is an error, and the request is sent once",
        arguments: [
            (200, "text/plain"), (200, "message/ohttp-chunked-res"), (204, ""), (302, "message/ohttp-res"), (400, "text/plain"),
            (403, "message/ohttp-res"), (404, ""), (415, ""), (500, "message/ohttp-res"), (502, ""), (504, ""),
        ])
    func otherAnswers(status: Int, type: String) async throws {
        let world = try world()
        world.gateway.script.change { script in
            script.fault = { request in .bytes([1, 2, 3], type: type, status: status, to: request) }
        }
        #expect(
            await codeThrown(as: ApproovError.self) {
                try await world.session().data(for: URLRequest("https://api.test/"))
            } == .obliviousError)
        #expect(world.relayRequests.count == 1)
    }

    @Test(
        "The error for an answer of 404, 413, 429 or 503 names the cause or the remedy", arguments: [404, 413, 429, 503], [false, true])
    func remedies(status: Int, isChunked: Bool) async throws {
        let world = try world(isChunked: isChunked)
        world.gateway.script.change { script in script.fault = { TransportResponse(status: status, url: $0.url) } }
        let error = await #expect(throws: ApproovError.self) {
            try await world.session().data(for: URLRequest("https://api.test/", method: "POST"))
        }
        let remedy =
            switch status {
            case 404: "check the path"
            case 413: isChunked ? "send less at once" : "use a gateway that understands chunks"
            case 429: "too many requests"
            default: "could not reach the next"
            }
        #expect(error?.code == .obliviousError && error?.message.hasSuffix("instead of an encapsulated response") == false)
        #expect(error?.message.contains(remedy) == true)
    }

    @Test("The response's media type is compared case-insensitively and without its parameters")
    func mediaType() async throws {
        let world = try world()
        let gateway = world.gateway
        gateway.script.change { script in
            script.fault = { request in
                let decapsulated = try gateway.keyring.value.decapsulate([UInt8](try await request.body.collected(upTo: 1 << 20)))
                let answer = try BinaryHTTPResponse(head: HTTPResponse(status: .accepted)).encoded()
                return .bytes(try decapsulated.response.seal(answer), type: "Message/OHTTP-res ; a=b", to: request)
            }
        }
        let (_, response) = try await world.session().data(for: URLRequest("https://api.test/"))
        #expect(response.statusCode == 202)
    }

    @Test("A response that was changed, truncated or sealed for another request is rejected")
    func tampering() async throws {
        let world = try world()
        let gateway = world.gateway
        let earlier = Shared<[UInt8]?>(nil)
        for step in 0..<4 {
            gateway.script.change { script in
                script.fault = { request in
                    let decapsulated = try gateway.keyring.value.decapsulate([UInt8](try await request.body.collected(upTo: 1 << 20)))
                    var sealed = try decapsulated.response.seal(BinaryHTTPResponse(head: HTTPResponse(status: .ok)).encoded())
                    switch step {
                    case 0: earlier.value = sealed
                    case 1: sealed = earlier.value ?? []
                    case 2: sealed[sealed.count - 1] ^= 1
                    default: sealed.removeLast(20)
                    }
                    return .bytes(sealed, type: OHTTPMediaType.response, to: request)
                }
            }
            let session = try world.session()
            if step == 0 {
                _ = try await session.data(for: URLRequest("https://api.test/"))
            } else {
                #expect(
                    await codeThrown(as: ApproovError.self) { try await session.data(for: URLRequest("https://api.test/")) }
                        == .obliviousError)
            }
        }
    }

    @Test("A response larger than the caller's limit is refused")
    func tooLarge() async throws {
        let world = try world()
        world.gateway.script.change { script in
            script.host = { _ in BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data(count: 1_001)) }
        }
        #expect(
            await codeThrown(as: ApproovError.self) {
                try await world.session().data(for: URLRequest("https://api.test/"), limit: 1_000)
            } == .responseTooLarge)
        #expect(try await world.session().data(for: URLRequest("https://api.test/"), limit: 1_001).0.count == 1_001)
    }

    @Test("An oblivious host may redirect to itself, but not to a host that is not oblivious")
    func redirect() async throws {
        let world = try world()
        world.gateway.script.change { script in
            script.host = { request in
                guard request.head.path != "/there" else { return BinaryHTTPResponse(head: HTTPResponse(status: .ok)) }
                let target = request.head.path == "/within" ? "/there" : "https://else.test/there"
                return BinaryHTTPResponse(head: HTTPResponse(status: .found, headerFields: [.location: target]))
            }
        }
        let session = try world.session()
        #expect(
            await codeThrown(as: ApproovError.self) { try await session.data(for: URLRequest("https://api.test/")) } == .redirectRefused)
        #expect(world.apiRequests.isEmpty)
        #expect(try await session.data(for: URLRequest("https://api.test/within")).1.statusCode == 200)
    }

    @Test("A relay whose pins do not match gets no request")
    func pinnedRelay() async throws {
        let account = try TestAccount()
        let impostor = try TestPKI.leaf(hosts: ["relay.test"], issuer: account.root)
        let world = try World(
            account: account,
            hosts: ["api.test": .pinned.with { $0.oblivious = true }, "relay.test": .pinned.with { $0.attested = false }],
            certificates: ["relay.test": impostor])
        let session = try world.session()
        #expect(await codeThrown(as: ApproovError.self) { try await session.data(for: URLRequest("https://api.test/")) } == .pinningError)
        #expect(world.relayRequests.isEmpty)
        #expect(world.transport.refusedRequests.map { $0.url.host.name } == ["relay.test"])
    }

    @Test(
        "After a change of the relay's pins, a request with a stream body is sent only if the stream is still unread",
        arguments: [true, false])
    func streamAndChangedPins(isChunked: Bool) async throws {
        let world = try World(hosts: ["api.test": .pinned.with { $0.oblivious = true }], chunked: isChunked)
        let session = try world.session()
        let url = try #require(URL(string: "https://api.test/x"))
        #expect(await world.service.fetchToken(for: url).status == .success)
        var settings = world.gateway.settings
        settings.chunked = isChunked
        let configuration = try world.account.signed(
            world.account.configuration(version: 2, hosts: ["api.test": .pinned.with { $0.oblivious = true }], oblivious: settings))
        world.authority.script.change { $0.configurations = [configuration] }
        let gateway = world.gateway
        gateway.script.change { script in
            script.fault = { _ in
                gateway.script.change { $0.fault = nil }
                throw TransportError(.trustRefused, "the pins of the first configuration")
            }
        }
        var request = URLRequest("https://api.test/x", method: "POST")
        request.httpBodyStream = InputStream(data: Data("transfer".utf8))
        if isChunked {
            _ = try await session.data(for: request)
            #expect(gateway.opened.value.map(\.body) == [Data("transfer".utf8)])
        } else {
            // The stream was read completely before the relay was called.
            #expect(await codeThrown(as: ApproovError.self) { try await session.data(for: request) } == .pinningError)
            #expect(gateway.opened.value.isEmpty)
        }
        #expect(world.service.configuration.version == 2)
    }

    @Test("A host's own problem response reaches the caller unchanged, however large it is")
    func largeProblem() async throws {
        let world = try world()
        let text = "{\"type\":\"about:blank\",\"detail\":\"" + String(repeating: "x", count: 40_000) + "\"}"
        world.gateway.script.change { script in
            script.host = { _ in
                BinaryHTTPResponse(
                    head: HTTPResponse(status: .badRequest, headerFields: [.contentType: "application/problem+json"]), body: Data(text.utf8)
                )
            }
        }
        let (data, response) = try await world.session().data(for: URLRequest("https://api.test/"))
        #expect(response.statusCode == 400 && data == Data(text.utf8))
        #expect(world.relayRequests.count == 1)
    }

    @Test("A session with `allRequestsMustBeOblivious` refuses hosts that are not oblivious and sends nothing direct")
    func mustBeOblivious() async throws {
        let world = try world()
        let session = try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: world.service,
            trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), obliviousRoute: nil,
            allRequestsMustBeOblivious: true)
        _ = try await session.data(for: URLRequest("https://api.test/"))
        for host in ["plain.test", "else.test"] {
            #expect(
                await codeThrown(as: ApproovError.self) { try await session.data(for: URLRequest("https://\(host)/")) } == .obliviousError)
        }
        #expect(world.apiRequests.isEmpty)
    }

    @Test("The session's own route serves only hosts that the configuration does not name")
    func ownRoute() async throws {
        let world = try World()
        let keys = Data(world.gateway.keyring.value.configurations.encoded())
        let route = try ObliviousRoute(relay: #require(URL(string: "https://relay.test/")), keyConfiguration: keys)
        let session = try world.session(obliviousRoute: route)
        _ = try await session.data(for: URLRequest("https://else.test/a"))
        #expect(world.relayRequests.count == 1 && world.apiRequests.isEmpty)
        _ = try await session.data(for: URLRequest("https://api.test/b"))
        #expect(world.relayRequests.count == 1 && world.apiRequests.count == 1)
        // The authority does not publish this route's keys, so the error says where to get them.
        world.gateway.keyring.value = try GatewayKeyring([GatewayKey(id: 2)])
        let error = await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest("https://else.test/a")) }
        #expect(error?.code == .obliviousError && error?.message.contains("/ohttp-keys") == true)
    }

    @Test("A host that the configuration calls oblivious uses the signed relay and key, not the session's own route")
    func signedRoute() async throws {
        let world = try world()
        let keys = try Data(GatewayKeyring([GatewayKey(id: 9)]).configurations.encoded())
        let route = try ObliviousRoute(relay: #require(URL(string: "https://own-relay.test/")), keyConfiguration: keys)
        let session = try world.session(obliviousRoute: route)
        _ = try await session.data(for: URLRequest("https://api.test/a"))
        #expect(world.relayRequests.count == 1 && world.apiRequests.isEmpty)
        #expect(world.gateway.opened.value.map(\.head.path) == ["/a"])
        _ = try? await session.data(for: URLRequest("https://else.test/b"))
        #expect(world.apiRequests.map(\.url.host.name) == ["own-relay.test"])
    }
}
