import CertificatePinning
import HTTPClient

/// Sends everything from an address of this machine that is not the usual one, so that it would be recognized elsewhere.
struct FromAddress: HTTPTransport {
    let address: CanonicalHost
    let base: any HTTPTransport

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        var request = request
        request.options.localAddress = address
        return try await base.send(request)
    }
}
