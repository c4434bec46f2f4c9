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

    /// Sends the request over a relay; ``transport`` sends it directly.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - route: The relay.
    ///   - isStreamed: Whether the caller reads the response part by part.
    /// - Returns: The host's response.
    /// - Throws: `TransportError`, ``ApproovError`` and ``RelayExchange/Refusal/key``.
    func send(_ request: TransportRequest, over route: KeyedRoute, isStreamed: Bool) async throws -> TransportResponse {
        let channel = ObliviousChannel(route: route, transport: transport, time: time, memory: gatewayMemory)
        return try await channel.send(request, isStreamed: isStreamed)
    }
}
