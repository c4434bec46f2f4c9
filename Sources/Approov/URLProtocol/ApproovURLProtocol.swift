public import Foundation
public import FoundationNetworking
import HTTPClient
import HTTPTypes
import Synchronization

/// Sends the requests of a `URLSession` over Oblivious HTTP (RFC 9458), for code that accepts only a `URLSessionConfiguration`.
///
/// ```swift
/// try ApproovURLProtocol.configure(
///     userAgent: "The Application", keyURL: URL(string: "https://gateway.example.com/ohttp-keys")!,
///     relayURL: URL(string: "https://relay.example.com/")!)
/// ApproovURLProtocol.isEnabled = true
/// configuration.protocolClasses = [ApproovURLProtocol.self] + (configuration.protocolClasses ?? [])
/// ```
///
/// Where you can replace the session, prefer ``ApproovSession``, which also supports tokens, pins and streams. Foundation on Linux sets
/// these limits here:
///
/// - Data tasks work, with `httpBody` or `httpBodyStream`. Request and response bodies are held in memory, with at most 64 MiB each.
///   Messages that are too large for the gateway to accept whole go in chunks, if the gateway supports them.
/// - Upload tasks fail, because Foundation does not pass on their body. Use a data task with `httpBody`.
/// - Download tasks fail, because Foundation would end the process when they finish. Use a data task.
/// - Foundation does not pass on the session's `httpAdditionalHeaders`, cookies and timeouts: set headers on the request. The request's own
///   `timeoutInterval` applies.
/// - Foundation does not call a task's own delegate (`URLSessionTask.delegate`, `data(for:delegate:)`).
/// - A redirect is returned as the response. Nothing is cached.
/// - A response with status 401 comes without its challenges of the scheme Basic, with which Foundation would never end the task.
///
/// The certificate paths of the relay and the key URL's server are validated with the system's roots, or as the given trust manager says.
public final class ApproovURLProtocol: URLProtocol {
    private let loading = Mutex<(task: Task<Void, Never>?, isStopped: Bool)>((nil, false))

    /// Sets the relay and the URL of the gateway's keys.
    ///
    /// The keys are cached for as long as their response allows, and fetched again when the gateway refuses them.
    ///
    /// - Parameters:
    ///   - userAgent: The User-Agent that the relay and the key server see: the same for all users of a program, without version or
    ///     platform.
    ///   - keyURL: The URL of the gateway's key configurations: https, or plain http on a loopback address. A server that can choose the
    ///     keys can read every request, so all clients must be given the same keys.
    ///   - relayURL: The relay's URL: https, or plain http on a loopback address.
    ///   - trustManager: The trust rules for both servers.
    /// - Throws: ``ApproovError`` with code `configurationError` when a URL or the user agent cannot be used.
    public static func configure(
        userAgent: String, keyURL: URL, relayURL: URL, trustManager: ApproovTrustManager = ApproovTrustManager()
    ) throws {
        try ObliviousLoader.shared.configure(userAgent: userAgent, relayURL: relayURL, trustManager: trustManager) { loader in
            HTTPKeyConfigurationClient(
                url: try ObliviousRoute.keys(keyURL.absoluteString), userAgent: userAgent, transport: loader.transport, time: loader.time,
                policy: loader.policy)
        }
    }

    /// Sets the relay and the caller's own source of keys.
    ///
    /// - Parameters:
    ///   - userAgent: The User-Agent that the relay sees: the same for all users of a program, without version or platform.
    ///   - keyClient: The source of the gateway's key configurations; called before every request, and again when the gateway refuses a
    ///     key.
    ///   - relayURL: The relay's URL: https, or plain http on a loopback address.
    ///   - trustManager: The trust rules for the relay.
    /// - Throws: ``ApproovError`` with code `configurationError` when the URL or the user agent cannot be used.
    public static func configure(
        userAgent: String, keyClient: any KeyConfigurationClient, relayURL: URL, trustManager: ApproovTrustManager = ApproovTrustManager()
    ) throws {
        try ObliviousLoader.shared.configure(userAgent: userAgent, relayURL: relayURL, trustManager: trustManager) { _ in keyClient }
    }

    /// Whether this class takes over requests; false by default.
    ///
    /// If false, a session's requests go their usual way. If true, they go over the relay or fail.
    ///
    /// Set it after ``configure(userAgent:keyURL:relayURL:trustManager:)``: a request before that ends the process in a debug build, and
    /// fails in a release build.
    public static var isEnabled: Bool {
        get { ObliviousLoader.shared.isEnabled }
        set { ObliviousLoader.shared.isEnabled = newValue }
    }

    /// Fetches the gateway's keys, or takes them from the cache.
    ///
    /// Call it at launch for all users, including those for whom ``isEnabled`` is false, so that a key fetch does not reveal who uses the
    /// keys.
    ///
    /// Before ``configure(userAgent:keyURL:relayURL:trustManager:)``, this call ends the process in a debug build and throws in a release
    /// build.
    ///
    /// - Returns: The bytes of `application/ohttp-keys` (RFC 9458, section 3.2), for example to compare them with another source's.
    /// - Throws: ``ApproovError`` with code `configurationError` before the configuration; the error of the fetch when it fails.
    @discardableResult
    public static func fetchKeyConfiguration() async throws -> Data {
        try await ObliviousLoader.shared.fetchKeyConfiguration()
    }

    /// Fetches the gateway's keys again, even if the cached ones are still fresh.
    ///
    /// It takes the place of `refreshOHTTPKeyConfig` in code that was written for another URL protocol. A request whose key the gateway
    /// refuses does this by itself.
    ///
    /// - Returns: The bytes of `application/ohttp-keys` (RFC 9458, section 3.2).
    /// - Throws: ``ApproovError`` with code `configurationError` before the configuration; the error of the fetch when it fails.
    @discardableResult
    public static func refreshKeyConfiguration() async throws -> Data {
        try await ObliviousLoader.shared.fetchKeyConfiguration(invalidatingCache: true)
    }

    /// Returns true while ``isEnabled`` is true, for every scheme but file, data and about.
    ///
    /// Requests of a scheme other than http and https fail: another protocol class, such as Foundation's for ftp, would send them directly.
    public override class func canInit(with request: URLRequest) -> Bool {
        guard isEnabled, let scheme = request.url?.scheme?.lowercased() else { return false }
        return !["file", "data", "about"].contains(scheme)
    }

    /// Returns the request unchanged.
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

    /// Cancels the request.
    public override func stopLoading() {
        let task = loading.withLock { loading in
            loading.isStopped = true
            return loading.task.take()
        }
        task?.cancel()
    }

    /// The reason why this task cannot be sent at all; nil if it can.
    private var refusal: ApproovError? {
        guard ["http", "https"].contains(request.url?.scheme?.lowercased()) else {
            return ApproovError(.unsupported, "only http and https go over the relay, so nothing was sent: use an https URL")
        }
        return switch task {
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

    /// Passes the outcome to Foundation.
    ///
    /// `@unchecked Sendable`: `URLProtocol` is not `Sendable`, but its client may be called from any thread, and only the loading task uses
    /// this object, once.
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
