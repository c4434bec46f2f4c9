public import Foundation
public import FoundationNetworking
import HTTPClient
import HTTPTypes
import Synchronization

/// Sends the requests of a `URLSession` inside Oblivious HTTP (RFC 9458), for code that only takes a `URLSessionConfiguration`.
///
/// ```swift
/// try ApproovURLProtocol.configure(
///     userAgent: "The Application", keyURL: URL(string: "https://gateway.example.com/ohttp-keys")!,
///     relayURL: URL(string: "https://relay.example.com/")!)
/// ApproovURLProtocol.isEnabled = true
/// configuration.protocolClasses?.insert(ApproovURLProtocol.self, at: 0)
/// ```
///
/// Where a session can be replaced, ``ApproovSession`` does more: tokens, pins, streams. What Foundation on Linux allows here is this:
///
/// - Data tasks work, with `httpBody` or `httpBodyStream`. Bodies and responses are held in memory, and may have 64 MiB each; what is larger
///   than the gateway takes whole goes in chunks, if it knows them.
/// - Upload tasks fail: Foundation does not hand their body over. Use a data task with `httpBody`.
/// - Download tasks fail: Foundation ends the process when they finish. Use a data task.
/// - The session's `httpAdditionalHeaders`, cookies and timeouts are not handed over: set headers on the request. A request's own
///   `timeoutInterval` has its effect.
/// - A delegate of a task's own (`URLSessionTask.delegate`, `data(for:delegate:)`) is not called: Foundation calls none.
/// - Redirects come back as the response that they are; nothing is cached.
///
/// The relay, and the key URL, are validated by path with the system's roots, or as the trust manager given says.
public final class ApproovURLProtocol: URLProtocol {
    private let loading = Mutex<(task: Task<Void, Never>?, isStopped: Bool)>((nil, false))

    /// Sets relay and key URL.
    ///
    /// The keys are kept for as long as their response says, and got anew when the gateway refuses them.
    ///
    /// - Parameters:
    ///   - userAgent: What relay and key server see as User-Agent: the same for all users of a program, without version or platform.
    ///   - keyURL: Where the gateway's key configurations are: https, or plain http on a loopback address. Whoever answers there can read
    ///     every request: all clients must be given the same keys.
    ///   - relayURL: The relay: https, or plain http on a loopback address.
    ///   - trustManager: What the servers of both must satisfy.
    /// - Throws: ``ApproovError`` `configurationError` for a URL or user agent that cannot be used.
    public static func configure(
        userAgent: String, keyURL: URL, relayURL: URL, trustManager: ApproovTrustManager = ApproovTrustManager()
    ) throws {
        try ObliviousLoader.shared.configure(userAgent: userAgent, relayURL: relayURL, trustManager: trustManager) { loader in
            HTTPKeyConfigurationClient(
                url: try ObliviousRoute.keys(keyURL.absoluteString), userAgent: userAgent, transport: loader.transport, time: loader.time,
                policy: loader.policy)
        }
    }

    /// Sets a relay and a source of keys of the caller's own.
    ///
    /// - Parameters:
    ///   - userAgent: What the relay sees as User-Agent: the same for all users of a program, without version or platform.
    ///   - keyClient: Gets the gateway's key configurations; asked before every request, and once more when the gateway refuses a key.
    ///   - relayURL: The relay: https, or plain http on a loopback address.
    ///   - trustManager: What the relay's server must satisfy.
    /// - Throws: ``ApproovError`` `configurationError` for a URL or user agent that cannot be used.
    public static func configure(
        userAgent: String, keyClient: any KeyConfigurationClient, relayURL: URL, trustManager: ApproovTrustManager = ApproovTrustManager()
    ) throws {
        try ObliviousLoader.shared.configure(userAgent: userAgent, relayURL: relayURL, trustManager: trustManager) { _ in keyClient }
    }

    /// Whether requests are taken over; false at first.
    ///
    /// Off, a session's requests go their usual way. On, they go over the relay or fail.
    public static var isEnabled: Bool {
        get { ObliviousLoader.shared.isEnabled }
        set { ObliviousLoader.shared.isEnabled = newValue }
    }

    /// Gets the gateway's keys, from the cache where it has them.
    ///
    /// Call it at launch for all users, also those for whom ``isEnabled`` is off: who fetches keys then says nothing about who uses them.
    ///
    /// Before ``configure(userAgent:keyURL:relayURL:trustManager:)`` it ends the process in a debug build, and fails in a release build.
    ///
    /// - Throws: ``ApproovError`` `configurationError` before the configuration; what the fetch failed with.
    public static func fetchKeyConfiguration() async throws {
        try await ObliviousLoader.shared.fetchKeyConfiguration()
    }

    /// Takes over http and https requests while ``isEnabled`` is on.
    public override class func canInit(with request: URLRequest) -> Bool {
        guard isEnabled, let scheme = request.url?.scheme?.lowercased() else { return false }
        return scheme == "https" || scheme == "http"
    }

    /// The request as it is.
    public override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Sends the request.
    public override func startLoading() {
        if let refusal = refusal {
            client?.urlProtocol(self, didFailWithError: refusal)
            return
        }
        let request = request
        let delivery = Delivery(self)
        let task = Task {
            do {
                let (head, body) = try await ObliviousLoader.shared.load(request)
                delivery.deliver(head, body)
            } catch {
                delivery.fail(error)
            }
        }
        let isStopped = loading.withLock { loading in
            loading.task = task
            return loading.isStopped
        }
        if isStopped { task.cancel() }
    }

    /// Ends the loading.
    public override func stopLoading() {
        let task = loading.withLock { loading in
            loading.isStopped = true
            return loading.task.take()
        }
        task?.cancel()
    }

    /// Why this task cannot be sent at all.
    private var refusal: ApproovError? {
        switch task {
        case is URLSessionUploadTask:
            ApproovError(
                .unsupported,
                "Foundation does not hand the body of an upload task to a URLProtocol, so nothing was sent: use a data task with httpBody")
        case is URLSessionDownloadTask:
            ApproovError(
                .unsupported, "a download task with a URLProtocol would end the process, so nothing was sent: use a data task")
        default: nil
        }
    }

    private var isStopped: Bool { loading.withLock { $0.isStopped } }

    /// Hands the outcome to Foundation.
    ///
    /// `@unchecked Sendable`: `URLProtocol` may not be sent, but Foundation asks its client from any thread, and this is used once, by the
    /// one task of the loading.
    private final class Delivery: @unchecked Sendable {
        private let loader: ApproovURLProtocol

        init(_ loader: ApproovURLProtocol) { self.loader = loader }

        func deliver(_ head: HTTPURLResponse, _ body: Data) {
            guard !loader.isStopped else { return }
            loader.client?.urlProtocol(loader, didReceive: head, cacheStoragePolicy: .notAllowed)
            if !body.isEmpty { loader.client?.urlProtocol(loader, didLoad: body) }
            loader.client?.urlProtocolDidFinishLoading(loader)
        }

        func fail(_ error: any Error) {
            guard !loader.isStopped else { return }
            loader.client?.urlProtocol(loader, didFailWithError: error)
        }
    }
}
