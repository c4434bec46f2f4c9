import CertificatePinning
import Foundation
import HTTPTransport

/// HTTPTransport's libcurl engine, with path validation under the test root.
struct CurlTransportClient: LoadClient {
    private let transport: CurlTransport
    private let request: TransportRequest

    init(url: String, roots: TrustAnchors) throws {
        transport = try CurlTransport()
        request = TransportRequest(url: try TransportURL(url), policy: TrustPolicy(rules: try HostMap([]), defaultAnchors: roots))
    }

    func shutdown() { transport.shutdown() }

    func get() async throws {
        let response = try await transport.send(request)
        let body = try await response.body.collect(upTo: 1024)
        try expectFiveBytes(status: response.status, count: body.count, from: "HTTPTransport")
    }
}
