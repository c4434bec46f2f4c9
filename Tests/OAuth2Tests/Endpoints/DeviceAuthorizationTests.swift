import Approov
import ApproovTesting
import Foundation
import HTTPClient
import OAuth2
import Testing

@Suite struct DeviceAuthorizationTests {
    private static let codes =
        #"{"device_code":"DC","user_code":"WDJB","verification_uri":"https://login.test/go","expires_in":600,"interval":4}"#
    private static let token = #"{"access_token":"a1","token_type":"Bearer"}"#

    /// Asks until the answers, a list of error names that ends with a token, are used up; returns the pauses between the questions.
    private func pauses(
        _ answers: [String], device: String = codes
    ) async throws -> (result: Result<BearerToken, any Error>, pauses: [Duration]) {
        let clock = ManualClock()
        let left = Shared(answers)
        let transport = InProcessTransport { request in
            guard request.url.target == "/token" else { return .json(device, to: request) }
            #expect(request.form["grant_type"] == "urn:ietf:params:oauth:grant-type:device_code" && request.form["device_code"] == "DC")
            switch left.change({ $0.isEmpty ? "token" : $0.removeFirst() }) {
            case "token": return .json(Self.token, to: request)
            case "broken": throw TransportError(.connectionFailed, "no route")
            case "untrusted": throw TransportError(.trustRefused, "the server is not trusted")
            case "overloaded": return .json("{}", 503, to: request)
            case let name: return .json(#"{"error":"\#(name)"}"#, 400, to: request)
            }
        }
        let endpoints = try Samples.endpoints(clock: clock, over: transport)
        let authorization = try await endpoints.authorizeDevice()
        #expect(authorization.userCode == "WDJB" && authorization.verificationURI.absoluteString == "https://login.test/go")
        let isDone = Shared(false)
        let task = Task {
            defer { isDone.value = true }
            return try await endpoints.token(for: authorization)
        }
        var pauses: [Duration] = []
        while !isDone.value {
            guard await eventually({ clock.sleeperCount == 1 || isDone.value }), let next = clock.nextWakeUp else { break }
            // The session's own timers run longer than the interval.
            pauses.append(next)
            clock.advance(by: next)
            _ = await eventually { clock.sleeperCount == 1 || isDone.value }
        }
        return (await task.result, pauses)
    }

    @Test("The client waits for the interval, five seconds more after slow_down, and twice as long after a lost question")
    func intervals() async throws {
        let (result, pauses) = try await pauses(["authorization_pending", "slow_down", "authorization_pending", "broken", "token"])
        #expect(try result.get().accessToken == "a1")
        #expect(pauses == [4, 4, 9, 9, 18].map { .seconds($0) })
    }

    @Test("After an outage, the client waits for the server's own interval again once the server answers")
    func afterOutage() async throws {
        let (result, pauses) = try await pauses(["broken", "broken", "authorization_pending", "slow_down", "token"])
        #expect(try result.get().accessToken == "a1")
        #expect(pauses == [4, 8, 16, 4, 9].map { .seconds($0) })
    }

    @Test(
        "A refusal by the user, and an expired code, end the wait",
        arguments: [
            ("access_denied", OAuth2Error.Code.authorizationRefused), ("expired_token", .timedOut), ("invalid_client", .requestRefused),
        ])
    func ends(name: String, expected: OAuth2Error.Code) async throws {
        let (result, _) = try await pauses(["authorization_pending", name])
        #expect(code(as: OAuth2Error.self) { try result.get() } == expected)
    }

    @Test("A server that is not trusted ends the wait at once")
    func untrusted() async throws {
        let (result, pauses) = try await pauses(["authorization_pending", "untrusted"])
        let error = #expect(throws: OAuth2Error.self) { try result.get() }
        #expect(error?.code == .networkingError && (error?.cause as? ApproovError)?.code == .pinningError)
        #expect(pauses.count == 2)
    }

    @Test("When the codes expire after requests that were lost, the error tells why the last one was", arguments: ["broken", "overloaded"])
    func lost(fault: String) async throws {
        let device = #"{"device_code":"DC","user_code":"WDJB","verification_uri":"https://login.test/go","expires_in":20,"interval":4}"#
        let (result, pauses) = try await pauses(["authorization_pending", fault], device: device)
        #expect(pauses == [4, 4, 8].map { .seconds($0) })
        #expect(try result.get().accessToken == "a1")
        let ended = try await self.pauses(Array(repeating: fault, count: 9), device: device)
        // The third pause would double to 16 seconds, but is cut so that the client asks again before the codes expire.
        #expect(ended.pauses == [4, 8, 4].map { .seconds($0) })
        let error = #expect(throws: OAuth2Error.self) { try ended.result.get() }
        #expect(error?.code == .timedOut && (error?.cause as? OAuth2Error)?.code == .networkingError)
    }

    /// A clock on which the long pauses of the client pass at once.
    private struct SkippingClock: TimeSource {
        let base = ManualClock()
        let pauses = Shared<[Duration]>([])

        var date: Date { base.date }
        var uptime: Duration { base.uptime }

        func sleep(for duration: Duration) async throws {
            // The session's own timers are shorter.
            guard duration > .seconds(60) else { return try await base.sleep(for: duration) }
            pauses.change { $0.append(duration) }
            base.advance(by: duration)
        }
    }

    @Test("The server's own interval is never shortened, and lost requests double one up to five minutes")
    func longIntervals() async throws {
        for (interval, pauses) in [(400, [400, 400]), (200, [200, 300])] {
            let isLost = Shared(true)
            let transport = InProcessTransport { request in
                if request.url.target == "/device" {
                    return .json(
                        #"{"device_code":"DC","user_code":"W","verification_uri":"https://login.test/","expires_in":3600,"interval":\#(interval)}"#,
                        to: request)
                }
                guard isLost.value else { return .json(Self.token, to: request) }
                isLost.value = false
                throw TransportError(.connectionFailed, "no route")
            }
            let clock = SkippingClock()
            let endpoints = try OAuth2Endpoints(client: Samples.client(), transport: transport, clock: clock)
            let authorization = try await endpoints.authorizeDevice()
            #expect(authorization.interval == .seconds(interval))
            #expect(try await endpoints.token(for: authorization).accessToken == "a1")
            #expect(clock.pauses.value == pauses.map { .seconds($0) })
        }
    }

    @Test("The client stops to ask when the codes have expired by its own clock")
    func expiry() async throws {
        let device = #"{"device_code":"DC","user_code":"WDJB","verification_uri":"https://login.test/go","expires_in":11}"#
        let (result, pauses) = try await pauses(Array(repeating: "authorization_pending", count: 9), device: device)
        #expect(code(as: OAuth2Error.self) { try result.get() } == .timedOut)
        #expect(pauses == [.seconds(5), .seconds(5)])
    }

    @Test(
        "Malformed answers are refused",
        arguments: [
            "{}", #"{"device_code":"DC","user_code":"W","verification_uri":"javascript:x","expires_in":600}"#,
            #"{"device_code":"DC","user_code":"W\u001b","verification_uri":"https://login.test/","expires_in":600}"#,
            #"{"device_code":"DC","user_code":"W","verification_uri":"https://login.test/"}"#,
            #"{"device_code":"DC","user_code":"W","verification_uri":"https://login.test/","expires_in":-5}"#,
            #"{"device_code":"DC","user_code":"W","verification_uri":"https://login.test/","expires_in":600,"interval":-1}"#,
        ])
    func malformed(body: String) async throws {
        let endpoints = try Samples.endpoints(over: InProcessTransport { .json(body, to: $0) })
        #expect(await codeThrown(as: OAuth2Error.self) { try await endpoints.authorizeDevice() } == .responseMalformed)
    }
}
