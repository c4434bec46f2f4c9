import CertificatePinning
import HTTPClient

/// A transport that sends from a given local address, so that the demo can look for that address in the servers' logs.
struct FromAddress: HTTPTransport {
    let address: CanonicalHost
    let base: any HTTPTransport

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        var request = request
        request.options.localAddress = address
        return try await base.send(request)
    }
}
