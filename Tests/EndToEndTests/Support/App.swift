import ApproovBase
import Approov
import ApproovAuthority
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient

/// An app as its developer writes it: wraps a URLSession and calls.
struct App: Sendable {
    let service: ApproovService
    let session: ApproovSession

    struct Answer: Sendable {
        let status: Int
        let text: String
    }

    func get(_ url: URL, authorization: String? = "Bearer alice") async throws -> Answer {
        var request = URLRequest(url: url)
        if let authorization { request.setValue(authorization, forHTTPHeaderField: LoopbackWorld.bindingHeader) }
        let (data, response) = try await session.data(for: request)
        return Answer(status: response.statusCode, text: String(decoding: data, as: UTF8.self))
    }

    /// Makes a call that must fail, and returns what it failed with.
    func failure(of url: URL, authorization: String? = "Bearer alice") async throws -> ApproovError {
        let answer: Answer
        do {
            answer = try await get(url, authorization: authorization)
        } catch let error as ApproovError {
            return error
        }
        throw TestFailure("\(url) was answered \(answer.status)")
    }
}

extension LoopbackWorld {
    /// What an app is made of, when it is not the usual.
    struct AppOptions {
        /// The name of its state directory; two apps with the same name are one app, restarted.
        var state = "app-state"
        var wrapping = URLSessionConfiguration.ephemeral
        var interceptors: [any RequestInterceptor] = []
        var bindHeader: String? = LoopbackWorld.bindingHeader
        /// The other settings of its session.
        var configuration = ApproovSessionConfiguration()
        var limits = ApproovServiceLimits()
        var clock: any TimeSource = SystemTimeSource()
        /// Where it finds the authority, when not at its own address.
        var front: AuthorityFront?
        /// What it reaches the authority through.
        var authorityProxy: ProxyConfiguration?
        /// What it measures.
        var executable: URL?
        /// The account's development key, in a developer's build.
        var developmentKey: String?
    }

    func app(_ change: (inout AppOptions) throws -> Void = { _ in }) async throws -> App {
        var options = AppOptions()
        try change(&options)
        let state = folder.file(options.state)
        let installation = try InstallationAttester(
            stateDirectory: state, executable: options.executable ?? executable, time: options.clock)
        let attester: any Attester
        let initial: InitialConfiguration
        if let front = options.front {
            attester = AttesterBehindFront(base: installation, authority: authority.url)
            initial = try await authority.store.initialConfiguration(
                authority: front.url, authorityPins: front.pins, trustRoots: root.pem)
        } else {
            attester = installation
            initial = try await authority.initialConfiguration()
        }
        let service = try ApproovService(
            configuration: ApproovConfiguration(initial), stateDirectory: state, attester: attester, clock: options.clock,
            limits: options.limits, proxy: options.authorityProxy, developmentKey: options.developmentKey)
        let session = try ApproovSession(
            wrapping: URLSession(configuration: options.wrapping), service: service,
            trustManager: ApproovTrustManager(anchors: TrustAnchors(pem: root.pem)), interceptors: options.interceptors,
            bindHeader: options.bindHeader, configuration: options.configuration)
        return App(service: service, session: session)
    }
}

/// Gives evidence to the authority behind a front, which knows itself by another URL.
private struct AttesterBehindFront: Attester {
    let base: InstallationAttester
    let authority: URL

    var deviceID: DeviceID { base.deviceID }

    func evidence(for request: EvidenceRequest) async throws -> String {
        var request = request
        request.audience = authority.absoluteString
        return try await base.evidence(for: request)
    }
}
