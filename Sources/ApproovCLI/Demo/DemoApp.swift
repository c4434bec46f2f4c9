import Approov
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient

/// The demo's app, written as an app developer would: it wraps a URLSession and makes calls.
struct DemoApp {
    let service: ApproovService
    private let session: ApproovSession
    private let roots: String

    /// - Parameters:
    ///   - configuration: The initial configuration file that the app ships with.
    ///   - state: The folder for the app's key and its newest configuration.
    ///   - roots: PEM roots for hosts without their own roots. The demo passes its own, so that it runs where the system has none.
    ///   - address: The local address to call from; nil lets the system choose.
    /// - Throws: The SDK's error when it cannot use one of these.
    init(configuration: URL, state: URL, roots: String, from address: String? = nil) throws {
        let transport = try address.map { FromAddress(address: try CanonicalHost($0), base: try CurlTransport()) }
        self.roots = roots
        service = try ApproovService(
            configuration: ApproovConfiguration(contentsOf: configuration), stateDirectory: state, transport: transport)
        var settings = ApproovSessionConfiguration()
        settings.bindHeader = ShapesAPI.bindingHeader
        settings.substitutions = [try Substitution(hosts: [DemoWorld.apiHost], headers: [ShapesAPI.keyHeader: ""])]
        session = try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: service,
            trustManager: ApproovTrustManager(anchors: TrustAnchors(pem: roots)), configuration: settings)
    }

    struct Answer {
        let status: Int
        let text: String
    }

    func get(_ url: String, authorization: String, apiKey: String? = nil) async throws -> Answer {
        var request = URLRequest(url: try parsed(url))
        request.setValue(authorization, forHTTPHeaderField: "Authorization")
        if let apiKey { request.setValue(apiKey, forHTTPHeaderField: ShapesAPI.keyHeader) }
        let (data, response) = try await session.data(for: request)
        return Answer(status: response.statusCode, text: String(decoding: data, as: UTF8.self))
    }

    /// Sends a signed order.
    /// - Returns: The answer, and the request as it was sent.
    func order(_ text: String, at url: String, authorization: String) async throws -> (answer: Answer, sent: TransportRequest) {
        let transport = LastRequest(base: try CurlTransport())
        var configuration = ApproovSessionConfiguration()
        configuration.bindHeader = ShapesAPI.bindingHeader
        configuration.signing = .installation()
        configuration.transport = transport
        let session = try makeSession(configuration)
        var request = URLRequest(url: try parsed(url))
        request.httpMethod = "POST"
        request.httpBody = Data(text.utf8)
        request.setValue(authorization, forHTTPHeaderField: "Authorization")
        let (data, response) = try await session.data(for: request)
        guard let sent = transport.request else { throw DemoFailure("the app sent no request") }
        return (Answer(status: response.statusCode, text: String(decoding: data, as: UTF8.self)), sent)
    }

    /// Makes a call whose server the app must refuse, and returns the refusal.
    func refusal(of url: String, authorization: String) async throws -> TrustRefusal {
        let answer: Answer
        do {
            answer = try await get(url, authorization: authorization)
        } catch {
            guard let refusal = error.trustRefusal else { throw error }
            return refusal
        }
        throw DemoFailure("the app did not refuse \(url), which answered \(answer.status)")
    }

    func token(for url: String, authorization: String) async throws -> String {
        let result = await service.fetchToken(for: try parsed(url), binding: authorization)
        guard result.status == .success else { throw DemoFailure("the app got no token: \(result.status.rawValue)") }
        return result.token
    }

    func limitedUseToken(for url: String, authorization: String) async throws -> String {
        let result = await service.fetchLimitedUseToken(for: try parsed(url), binding: authorization)
        guard result.status == .success else { throw DemoFailure("the app got no limited-use token: \(result.status.rawValue)") }
        return result.token
    }

    /// Makes another session, with its own cookies.
    func makeSession(
        _ settings: ApproovSessionConfiguration, wrapping configuration: URLSessionConfiguration = .ephemeral
    ) throws -> ApproovSession {
        try ApproovSession(
            wrapping: URLSession(configuration: configuration), service: service,
            trustManager: ApproovTrustManager(anchors: TrustAnchors(pem: roots)), configuration: settings)
    }

    func parsed(_ url: String) throws -> URL {
        guard let url = URL(string: url) else { throw DemoFailure("\(url) is not a URL") }
        return url
    }
}
