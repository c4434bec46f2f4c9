import Approov
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient

/// The demo's app, as an app developer writes it: wraps a URLSession and calls.
struct DemoApp {
    let service: ApproovService
    private let session: ApproovSession

    /// - Parameters:
    ///   - configuration: The file that the app ships with.
    ///   - state: Where its key and the newest configuration are kept.
    ///   - roots: PEM roots for hosts without roots of their own, of which the demo has none: it runs on a system without any.
    ///   - address: The address of this machine that it calls from; nil: the usual one.
    /// - Throws: What the SDK cannot use.
    init(configuration: URL, state: URL, roots: String, from address: String? = nil) throws {
        let transport = try address.map { FromAddress(address: try CanonicalHost($0), base: try CurlTransport()) }
        service = try ApproovService(
            configuration: ApproovConfiguration(contentsOf: configuration), stateDirectory: state, transport: transport)
        session = try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: service,
            trustManager: ApproovTrustManager(anchors: TrustAnchors(pem: roots)), bindHeader: ShapesAPI.bindingHeader)
    }

    struct Answer {
        let status: Int
        let text: String
    }

    func get(_ url: String, authorization: String) async throws -> Answer {
        var request = URLRequest(url: try parsed(url))
        request.setValue(authorization, forHTTPHeaderField: "Authorization")
        let (data, response) = try await session.data(for: request)
        return Answer(status: response.statusCode, text: String(decoding: data, as: UTF8.self))
    }

    /// Makes a call whose server must be refused.
    func refusal(of url: String, authorization: String) async throws -> TrustRefusal {
        let answer: Answer
        do {
            answer = try await get(url, authorization: authorization)
        } catch {
            guard let refusal = error.trustRefusal else { throw error }
            return refusal
        }
        throw DemoFailure("\(url) was not refused: it answered \(answer.status)")
    }

    func token(for url: String, authorization: String) async throws -> String {
        let result = await service.fetchToken(for: try parsed(url), binding: authorization)
        guard result.status == .success else { throw DemoFailure("no token: \(result.status.rawValue)") }
        return result.token
    }

    private func parsed(_ url: String) throws -> URL {
        guard let url = URL(string: url) else { throw DemoFailure("\(url) is no URL") }
        return url
    }
}
