import Approov
import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import Testing

/// The client as an app makes it; ObliviousLoaderTests has more about its cache.
@Suite struct HTTPKeyConfigurationClientTests {
    private let clock = ManualClock()
    private let keys = Shared(Data("first".utf8))
    private let answer = Shared<(status: Int, type: String)>((200, OHTTPMediaType.keys))
    private let gate = Gate()
    private let transport: InProcessTransport

    init() {
        let (keys, answer, gate) = (keys, answer, gate)
        transport = InProcessTransport { request in
            try await gate.wait()
            return TransportResponse(
                status: answer.value.status, headerFields: [.contentType: answer.value.type, .cacheControl: "max-age=60"],
                url: request.url, body: ResponseBody(bytes: [UInt8](keys.value)))
        }
    }

    private func client(_ url: String = "https://keys.test/ohttp-keys", userAgent: String = "approov") throws -> HTTPKeyConfigurationClient
    {
        try HTTPKeyConfigurationClient(
            url: #require(URL(string: url)), userAgent: userAgent, trustManager: ApproovTrustManager(logger: .silent), transport: transport,
            clock: clock)
    }

    @Test("The bytes come from the server, then from the cache, and again from the server when they must")
    func bytes() async throws {
        gate.open()
        let client = try client()
        #expect(try await client.fetchKeyConfiguration() == Data("first".utf8))
        keys.value = Data("second".utf8)
        #expect(try await client.fetchKeyConfiguration() == Data("first".utf8))
        #expect(try await client.fetchKeyConfiguration(invalidatingCache: true) == Data("second".utf8))
        #expect(try await client.fetchKeyConfiguration() == Data("second".utf8))
        #expect(transport.requests.map { $0.headerFields[.cacheControl] } == [nil, "no-cache"])
        #expect(transport.requests.allSatisfy { $0.headerFields[.userAgent] == "approov" && $0.headerFields.count <= 3 })
    }

    @Test("An answer other than keys is an error that a program can distinguish")
    func failures() async throws {
        gate.open()
        let client = try client()
        for (status, type, cause) in [
            (503, OHTTPMediaType.keys, KeyConfigurationFailure.unexpectedStatus(503)), (200, "text/html", .unexpectedMediaType),
        ] {
            answer.value = (status, type)
            let error = await #expect(throws: ApproovError.self) { try await client.fetchKeyConfiguration() }
            #expect(error?.code == .networkingError && error?.cause as? KeyConfigurationFailure == cause, "\(String(describing: error))")
        }
    }

    @Test("A caller that is cancelled stops waiting, and the fetch goes on for the others")
    func cancellation() async throws {
        let client = try client()
        let impatient = Task { try await client.fetchKeyConfiguration() }
        #expect(await eventually { gate.waiterCount == 1 })
        let patient = Task { try await client.fetchKeyConfiguration() }
        impatient.cancel()
        await #expect(throws: CancellationError.self) { try await impatient.value }
        gate.open()
        #expect(try await patient.value == Data("first".utf8))
        #expect(transport.requests.count == 1)
    }

    @Test("A URL over plain http elsewhere than on this machine, and a user agent with line breaks, are refused")
    func badSettings() throws {
        for (url, agent) in [("http://keys.test/", "x"), ("file:///keys", "x"), ("https://keys.test/", "x\r\ny: z")] {
            #expect(code(as: ApproovError.self) { try client(url, userAgent: agent) } == .configurationError, "\(url)")
        }
        _ = try client("http://127.0.0.1:8080/ohttp-keys")
    }
}
