internal import ApproovBase
public import Approov
public import Foundation
internal import Synchronization

/// Receives one redirect of the user's browser on this machine (RFC 8252, section 7.3).
///
/// It listens on 127.0.0.1, on a port that the system picks. Only a GET for its path, with its own address as the host and with the state of
/// the request, is accepted; other pages and programs get an error and change nothing. The server must accept any port in the redirect URI.
public final class LoopbackRedirect: Sendable {
    /// The longest path of a redirect URI, in bytes.
    private static let longestPath = 256

    /// The redirect URI for ``AuthorizationRequest``, such as `http://127.0.0.1:49152/callback`.
    public let redirectURI: URL
    private let listener: Mutex<LoopbackListener?>
    private let clock: any TimeSource

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - path: The path of the redirect URI, as it is registered at the server.
    ///   - clock: The clock for the time that the user has.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when the path cannot be used or the system offers no port.
    public convenience init(path: String = "/callback", clock: any TimeSource = SystemTimeSource()) throws {
        try self.init(path: path, clock: clock, limits: LoopbackLimits())
    }

    init(path: String, clock: any TimeSource, limits: LoopbackLimits) throws {
        let isAllowed = { (byte: UInt8) in (0x21...0x7E).contains(byte) && !"?#%\\\"<>".utf8.contains(byte) }
        guard path.hasPrefix("/"), path.utf8.count <= Self.longestPath, path.utf8.allSatisfy(isAllowed) else {
            throw OAuth2Error(.configurationError, "the path of a redirect begins with / and has neither a query nor percent signs")
        }
        // A browser removes such segments, so its request would be for another path.
        guard !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
            throw OAuth2Error(.configurationError, "the path of a redirect has a segment . or ..; write the path without it")
        }
        let listener = try LoopbackListener(path: path, clock: clock, limits: limits)
        // A character that has to be encoded makes another path, too.
        guard let url = URL(string: "http://127.0.0.1:\(listener.port)\(path)"), url.path(percentEncoded: true) == path else {
            throw OAuth2Error(.configurationError, "the path of a redirect cannot be part of a URL; use letters and digits")
        }
        redirectURI = url
        self.listener = Mutex(listener)
        self.clock = clock
    }

    /// Waits for the redirect that answers a request, tells the user to return to the app, and stops listening.
    ///
    /// - Parameters:
    ///   - request: The request that the browser shows; its redirect URI must be ``redirectURI``.
    ///   - timeout: How long the user has; five minutes by default.
    /// - Returns: The grant for the code; exchange it for a token with ``OAuth2Endpoints/issue(_:)``.
    /// - Throws: ``OAuth2Error`` with code `authorizationRefused` when the user or the server refused, with code `redirectRefused` when the
    ///   redirect has the request's state but another issuer than the server's, or none although the server always names it, a parameter
    ///   twice, a malformed error or one with a code, or no code that can be used, with code `timedOut` when the time is over, and with code
    ///   `configurationError` when this listener was used before or is not that of the request, or the system's sockets fail;
    ///   `CancellationError`.
    public func grant(for request: AuthorizationRequest, timeout: Duration = .seconds(300)) async throws -> AuthorizationCodeGrant {
        guard request.redirectURI == redirectURI else {
            throw OAuth2Error(
                .configurationError, "the request's redirect URI is not this listener's; make the request with the listener's redirectURI")
        }
        let taken = listener.withLock { listener in
            defer { listener = nil }
            return listener
        }
        guard let taken else {
            throw OAuth2Error(.configurationError, "a LoopbackRedirect takes one redirect; make another one for another request")
        }
        let stop = try StopSignal()
        let (results, continuation) = AsyncStream.makeStream(of: Result<AuthorizationCodeGrant, any Error>?.self)
        // Waiting for sockets blocks, so it has its own thread.
        Thread {
            continuation.yield(
                taken.serve(until: stop) { query -> AuthorizationCodeGrant? in
                    // Without the state, another page may have sent it: the user's own redirect can still come.
                    guard let response = try? request.response(inQuery: query) else { return nil }
                    return try request.grant(from: response)
                })
            continuation.finish()
        }.start()
        let (clock, isLate) = (clock, LateFlag())
        let timer = Task.detached {
            try await clock.sleep(for: timeout)
            isLate.value.store(true, ordering: .relaxed)
            stop.send()
        }
        defer { timer.cancel() }
        // Detached, so that a cancelled caller waits until the thread has closed its sockets.
        let waiting = Task.detached {
            for await result in results { return result }
            return nil
        }
        let result = await withTaskCancellationHandler {
            await waiting.value
        } onCancel: {
            stop.send()
        }
        if let result { return try result.get() }
        try Task.checkCancellation()
        guard isLate.value.load(ordering: .relaxed) else {
            throw OAuth2Error(.configurationError, "the system's sockets failed while the app waited for the redirect; try again")
        }
        throw OAuth2Error(.timedOut, "no redirect arrived within \(timeout); let the user try again")
    }

    private final class LateFlag: Sendable {
        let value = Atomic(false)
    }
}
