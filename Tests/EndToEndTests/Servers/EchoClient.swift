import CertificatePinning
import HTTPClient
import HTTPTypes

/// Posts numbered requests to a server that answers each with its body.
struct EchoClient: BusyClient {
    private let transport: CurlTransport
    private let policy: TrustPolicy
    private let url: TransportURL
    private let contentType: String
    private let client: Int
    private var number = 0

    init(_ client: Int, url: String, root: String, contentType: String = "text/plain") throws {
        transport = try CurlTransport()
        policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root))
        self.url = try TransportURL(url)
        (self.contentType, self.client) = (contentType, client)
    }

    mutating func request() async throws -> (id: String, isAnswered: Bool)? {
        number += 1
        let id = "\(client)-\(number)"
        var options = TransferOptions()
        options.isIdempotent = false
        do {
            let response = try await transport.send(
                TransportRequest(
                    url: url, method: .post, headerFields: [.contentType: contentType], body: .bytes(Array(id.utf8)), policy: policy,
                    options: options))
            let body = try await response.body.collect(upTo: 1_000)
            return (id, response.status == 200 && String(decoding: body, as: UTF8.self) == id)
        } catch {
            return (id, false)
        }
    }

    func end() { transport.shutdown() }
}
