import ApproovBase
import HTTPClient

/// Station 8: sends a request to its host, or encapsulated to the relay.
///
/// The transport validates the server's certificate path and asks the host's evaluator before a byte of the request is sent.
struct TransportStation: Sendable {
    let transport: any HTTPTransport
    let time: any TimeSource
    private let gatewayMemory = GatewayMemory()

    init(_ transport: any HTTPTransport, time: any TimeSource) {
        self.transport = transport
        self.time = time
    }

    /// Sends the request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - route: The relay; nil to send direct.
    ///   - isStreamed: Whether the caller reads the response part by part.
    /// - Returns: The host's response.
    /// - Throws: `TransportError`; over a relay also ``ApproovError`` and ``RelayExchange/Refusal/key``.
    func send(_ request: TransportRequest, over route: KeyedRoute?, isStreamed: Bool) async throws -> TransportResponse {
        guard let route else { return try await transport.send(request) }
        let channel = ObliviousChannel(route: route, transport: transport, time: time, memory: gatewayMemory)
        return try await channel.send(request, isStreamed: isStreamed)
    }
}
