internal import NIOCore
internal import NIOHTTP1

/// What a `LastAnswerHandler` knows about the requests and answers of its connection.
struct LastAnswerState {
    /// What happens to a request.
    enum Verdict {
        case pass, refuse, drop
    }

    /// The requests that were passed on, and whose answers have not ended: whether each is a HEAD request.
    private var open = CircularBuffer<Bool>()
    private var isStopping = false
    /// Whether the head of the last answer was sent, with `Connection: close`.
    private var isMarked = false
    /// The version of the request after which the client wants no other answer; nil before there is one.
    private var lastVersion: HTTPVersion?
    /// Whether the last request asks for another protocol, which this server does not speak.
    private var asksForUpgrade = false
    /// Whether nothing more is read, because all of the last request has arrived.
    ///
    /// NIO's decoder takes what follows such a request for another protocol, and would keep all of it in memory.
    private(set) var isDeaf = false
    /// Whether a request was refused, which ends the connection.
    private var isRefused = false
    /// Whether the request that is being received is not passed on.
    private var isDropping = false
    /// Whether the client waits for `100 (Continue)` before it sends the content of the newest request.
    private var isAwaited = false
    /// Whether the content of the answer that is being sent ends with the connection, so that a part of it would look complete.
    private(set) var endsWithConnection = false

    /// Whether the answer has ended after which the client wants the end of the connection.
    var isOver: Bool { lastVersion != nil && open.isEmpty }
    /// Whether the next answer is one to a HEAD request, which has no content (RFC 9110, section 9.3.2).
    var answersHead: Bool { open.first == true }

    /// Takes in the head of a request.
    ///
    /// - Parameter head: The head.
    /// - Returns: `refuse` for a request that names its host wrongly, `drop` for a request after the last one.
    mutating func received(_ head: HTTPRequestHead) -> Verdict {
        isDropping = isMarked || isRefused || lastVersion != nil
        guard !isDropping else { return .drop }
        guard head.namesHost else {
            (isRefused, isDropping) = (true, true)
            return .refuse
        }
        open.append(head.method == .HEAD)
        // HTTP/1.0 has no connections that stay open, except as an extension (RFC 9112, section 9.3), which this server does without.
        asksForUpgrade = head.asksForUpgrade
        if !head.isKeepAlive || head.version == .http1_0 || asksForUpgrade { lastVersion = head.version }
        isAwaited = head.expectsContinue
        return .pass
    }

    /// Takes in a part of a request's content, or its end.
    ///
    /// - Parameter isEnd: Whether it is the end.
    /// - Returns: Whether the part is passed on.
    mutating func receivedContent(isEnd: Bool) -> Bool {
        isAwaited = false
        if isEnd, asksForUpgrade { isDeaf = true }
        return !isDropping
    }

    /// Decides whether `100 (Continue)` is sent now: when a client waits for it, and all earlier answers have ended.
    ///
    /// - Returns: Whether it is sent; it is sent once.
    mutating func continues() -> Bool {
        guard isAwaited, open.count == 1 else { return false }
        isAwaited = false
        return true
    }

    /// Takes in that the server is asked to stop.
    mutating func stops() { isStopping = true }

    /// Decides how the head of a final answer is sent.
    ///
    /// - Parameter head: The head; on the last answer it gets `Connection: close`, and for an HTTP/1.0 client that version, because NIO
    ///   writes chunks only for later ones.
    mutating func answers(_ head: inout HTTPResponseHead) {
        guard open.count <= 1, isStopping || lastVersion != nil else { return }
        isMarked = true
        head.headers.replaceOrAdd(name: "Connection", value: "close")
        guard lastVersion == .http1_0 else { return }
        head.version = .http1_0
        endsWithConnection = !answersHead && !head.headers.contains(name: "Content-Length")
    }

    /// Takes in the end of an answer.
    ///
    /// - Returns: Whether a request that was passed on is answered by it; bytes that are not HTTP are answered, too.
    mutating func ended() -> Bool {
        endsWithConnection = false
        return open.popFirst() != nil
    }
}

extension HTTPRequestHead {
    /// Whether there is one Host field, or none on HTTP/1.0 (RFC 9112, section 3.2).
    fileprivate var namesHost: Bool {
        let count = headers["Host"].count
        return count == 1 || count == 0 && version == .http1_0
    }

    /// Whether the client asks for another protocol or a tunnel (RFC 9110, sections 7.8 and 9.3.6).
    fileprivate var asksForUpgrade: Bool {
        method == .CONNECT
            || headers.contains(name: "Upgrade") && headers[canonicalForm: "connection"].contains { $0.lowercased() == "upgrade" }
    }

    /// Whether the client waits for `100 (Continue)` before it sends the content (RFC 9110, section 10.1.1).
    fileprivate var expectsContinue: Bool {
        version != .http1_0 && headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    }
}
