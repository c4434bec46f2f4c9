@_spi(Internals) import ApproovBase
import HTTPClient
public import Logging

/// Logs what a session sends and receives, without values.
///
/// ```swift
/// configuration.observers = [ConsoleLog(level: .debug)]
/// ```
///
/// Everything that comes from outside is in the metadata of a line, never in its message, and in printable ASCII, so that no server can
/// forge a line. See ``SessionObserver`` for what the lines leave out.
public struct ConsoleLog: SessionObserver {
    /// How much is logged.
    public enum Level: Sendable, Hashable {
        /// Nothing.
        case off
        /// A line for each call that ended (level info) or failed (level warning).
        case info
        /// A line for each request, response and attempt as well (level debug), and the names of fields.
        case debug
    }

    /// How much is logged.
    public let level: Level
    /// The names of header fields whose values are shown; see `SessionObserver.shownHeaders`.
    public let shownHeaders: Set<String>
    private let logger: Logger
    /// The metadata of the last target: many requests in a row have the same.
    private let lastMetadata = LastValue<CallTarget, Logger.Metadata>()
    private let lastEnd = LastValue<CallTarget, EndOfCall>()

    /// Makes a log.
    ///
    /// - Parameters:
    ///   - level: How much is logged.
    ///   - logger: The logger, whose own level also applies.
    ///   - showing: The names of header fields whose values are shown, such as "Content-Type"; never those that may hold a credential.
    public init(level: Level = .info, logger: Logger = Logger(label: "approov.session"), showing: Set<String> = []) {
        self.level = level
        self.logger = logger
        shownHeaders = showing
    }

    /// Whether lines show the time of each phase.
    public var wantsTimings: Bool { level == .debug }

    /// Whether each request and each response gets a line.
    public var wantsHeads: Bool { level == .debug }

    /// Logs a request.
    public func willSend(_ request: RequestSummary) {
        guard level == .debug, logger.logLevel <= .debug else { return }
        logger.debug("request", metadata: fields(of: request, withNames: true))
    }

    /// Logs the head of a response.
    public func didReceive(_ response: ResponseSummary) {
        guard level == .debug, logger.logLevel <= .debug else { return }
        var metadata: Logger.Metadata = [
            "call": .stringConvertible(response.call), "attempt": .stringConvertible(response.attempt),
            "redirect": .stringConvertible(response.redirect), "status": .stringConvertible(response.status),
            "version": .string(response.version), "duration": Self.text(response.duration), "headers": Self.text(response.headerNames),
        ]
        metadata["size"] = response.bodySize.map { .stringConvertible($0) }
        Self.add(response.shownHeaders, to: &metadata)
        logger.debug("response", metadata: metadata)
    }

    /// Logs the end of a call.
    public func didFinish(_ metrics: CallMetrics) {
        guard level != .off, logger.logLevel <= .info else { return }
        var metadata = lastEnd.value(for: metrics.request.target, make: EndOfCall.init).metadata(of: metrics)
        if level == .debug, let timings = metrics.timings {
            metadata["name-lookup"] = timings.nameLookup.map(Self.text)
            metadata["connect"] = timings.connect.map(Self.text)
            metadata["tls"] = timings.tls.map(Self.text)
            metadata["first-byte"] = timings.firstByte.map(Self.text)
        }
        logger.info("finished", metadata: metadata)
    }

    /// Logs a failure.
    public func didFail(_ failure: CallFailure) {
        guard level == .debug || level == .info && !failure.willRetry else { return }
        var metadata = failure.request.map { fields(of: $0, withNames: false) } ?? [:]
        metadata["call"] = .stringConvertible(failure.call)
        metadata["attempt"] = .stringConvertible(failure.attempt)
        metadata["code"] = .string(failure.code?.rawValue ?? "cancelled")
        metadata["reason"] = .string(failure.message)
        metadata["retries"] = Self.text(failure.willRetry)
        metadata["duration"] = Self.text(failure.duration)
        logger.log(level: failure.willRetry ? .debug : .warning, "failed", metadata: metadata)
    }

    /// Logs how many events are missing.
    public func didDrop(_ count: Int) {
        guard level != .off else { return }
        logger.warning("events dropped because the log is too slow", metadata: ["count": .stringConvertible(count)])
    }

    private func fields(of request: RequestSummary, withNames: Bool) -> Logger.Metadata {
        var metadata = lastMetadata.value(for: request.target, make: \.metadata)
        metadata["call"] = .stringConvertible(request.call)
        metadata["attempt"] = .stringConvertible(request.attempt)
        guard withNames else { return metadata }
        metadata["redirect"] = .stringConvertible(request.redirect)
        metadata["query"] = Self.text(request.queryNames)
        metadata["headers"] = Self.text(request.headerNames)
        metadata["size"] = request.bodySize.map { .stringConvertible($0) }
        Self.add(request.shownHeaders, to: &metadata)
        return metadata
    }

    private static func add(_ shown: [String: String], to metadata: inout Logger.Metadata) {
        for (name, value) in shown { metadata["header-\(name)"] = .string(value) }
    }

    fileprivate static func text(_ flag: Bool) -> Logger.MetadataValue { .string(flag ? "true" : "false") }

    private static func text(_ names: [String]) -> Logger.MetadataValue { .array(names.map { .string($0) }) }

    fileprivate static func text(_ duration: Duration) -> Logger.MetadataValue { .stringConvertible(Milliseconds(duration)) }
}

extension CallTarget {
    /// The part of a line's metadata that says where a request goes.
    fileprivate var metadata: Logger.Metadata {
        // With room for what a line adds: a dictionary that grows hashes all its keys again.
        var metadata = Logger.Metadata(minimumCapacity: 20)
        metadata["method"] = .string(method)
        metadata["scheme"] = .string(scheme)
        metadata["host"] = .string(host)
        metadata["port"] = .stringConvertible(port)
        metadata["path"] = .string(path)
        metadata["attested"] = ConsoleLog.text(isAttested)
        metadata["oblivious"] = ConsoleLog.text(isOblivious)
        return metadata
    }
}

/// The metadata of a line about the end of a call to one target.
///
/// It has a place for each value that differs between calls: to search for five keys takes longer than all else in such a line.
private struct EndOfCall: Sendable {
    private let template: Logger.Metadata
    private let call: Logger.Metadata.Index
    private let status: Logger.Metadata.Index
    private let attempts: Logger.Metadata.Index
    private let received: Logger.Metadata.Index
    private let duration: Logger.Metadata.Index

    init(_ target: CallTarget) {
        var metadata = target.metadata
        for key in ["call", "status", "attempts", "received", "duration"] { metadata[key] = "" }
        // All keys are there now, and the indices of a dictionary hold for its copies.
        func place(of key: String) -> Logger.Metadata.Index { metadata.index(forKey: key) ?? metadata.endIndex }
        (call, status, attempts) = (place(of: "call"), place(of: "status"), place(of: "attempts"))
        (received, duration) = (place(of: "received"), place(of: "duration"))
        template = metadata
    }

    func metadata(of metrics: CallMetrics) -> Logger.Metadata {
        var metadata = template
        metadata.values[call] = .stringConvertible(metrics.call)
        metadata.values[status] = .stringConvertible(metrics.response.status)
        metadata.values[attempts] = .stringConvertible(metrics.attempts)
        metadata.values[received] = .stringConvertible(metrics.receivedBytes)
        metadata.values[duration] = ConsoleLog.text(metrics.duration)
        return metadata
    }
}

/// Writes a duration in milliseconds with three digits, when a log handler asks for the text.
private struct Milliseconds: CustomStringConvertible, Sendable {
    private let duration: Duration

    init(_ duration: Duration) { self.duration = duration }

    var description: String {
        let microseconds = Int64(duration / .microseconds(1))
        return "\(microseconds / 1_000).\(String(1_000 + microseconds % 1_000).dropFirst()) ms"
    }
}
