import Attestation
import Foundation
import HTTPTransport
import HTTPTypes
import OHTTP

@testable import Approov

/// A relay and the gateway behind it, of a few lines: opens what comes, asks the closure, seals what it answers.
final class SmallGateway: Sendable {
    /// What the test wants of the next requests.
    struct Script: Sendable {
        /// Answers in place of relay and gateway; nil: they answer themselves.
        var fault: (@Sendable (TransportRequest) async throws -> TransportResponse?)?
        /// Answers for the host.
        var host: @Sendable (BinaryHTTPRequest) throws -> BinaryHTTPResponse = { request in
            BinaryHTTPResponse(
                head: HTTPResponse(status: .ok, headerFields: [.contentType: "text/plain"]), body: Data((request.head.path ?? "").utf8))
        }
        var padding = BinaryHTTPPadding.none
    }

    let keyring: MutexBox<GatewayKeyring>
    let script = MutexBox(Script())
    /// The messages inside, in order.
    let opened = MutexBox<[BinaryHTTPRequest]>([])
    /// The encapsulated messages, in order.
    let received = MutexBox<[[UInt8]]>([])

    init(keyID: UInt8 = 1, kem: KeyConfiguration.KEM = .x25519) throws {
        keyring = MutexBox(try GatewayKeyring([GatewayKey(id: keyID, kem: kem)]))
    }

    var settings: ObliviousSettings {
        ObliviousSettings(relay: "https://relay.test/", keyConfig: Base64.encode(keyring.value.configurations.encoded()))
    }

    func respond(to request: TransportRequest) async throws -> TransportResponse {
        if let response = try await script.value.fault?(request) { return response }
        guard request.headerFields[.contentType] == OHTTPMediaType.request else {
            return TransportResponse(status: 415, url: request.url)
        }
        let message = [UInt8](try await request.body.collected(upTo: 1 << 20))
        received.change { $0.append(message) }
        let decapsulated: DecapsulatedRequest
        do {
            decapsulated = try keyring.value.decapsulate(message)
        } catch {
            return .bytes(
                JSONValue.object(["type": .string(OHTTPProblemType.key)]).serialized(), type: Problem.mediaType, status: 400, to: request)
        }
        let inner = try BinaryHTTPRequest(decoding: decapsulated.request)
        opened.change { $0.append(inner) }
        let answer = try script.value.host(inner).encoded(padding: script.value.padding)
        return .bytes(try decapsulated.response.seal(answer), type: OHTTPMediaType.response, to: request)
    }
}
