import ApproovBase
import Crypto
public import Foundation
public import HTTPClient
import HTTPTypes

/// Sends requests over another transport and records each exchange in a folder, for a ``ReplayTransport``.
///
/// ```swift
/// var configuration = ApproovSessionConfiguration()
/// configuration.transport = try RecordingTransport(wrapping: CurlTransport(), into: URL(filePath: "recordings"))
/// let session = try ApproovSession(service: service, configuration: configuration)
/// ```
///
/// An exchange has a JSON file, such as `0001-GET-api.example.com-items-1f00c3a9.json`, and a `.body` file unless the response is empty.
/// Both have mode 0600. You may edit them. The other transport validates certificates and enforces pins as usual.
///
/// Only one `RecordingTransport` at a time may write to a folder, in this process and all others: give each its own folder.
///
/// Secrets are redacted by ``RecordingRedaction``, so that you can commit a recording after you have read it.
///
/// The body of a response with a status of 200 to 299 reaches the caller as it arrives. The exchange is recorded once the body has been
/// read to its end. If the caller stops early, or the transfer fails, nothing is recorded. Any other response is read and recorded before
/// the caller gets it. Of the request's body only a hash is recorded, and of a stream or file not even that. Unless the redaction keeps
/// bodies, only JSON and forms have a hash: readers could find a short text, such as a code, by trying. They still can if such a value has
/// a name that is not secret; see ``RecordingRedaction/secretNames``.
///
/// Oblivious HTTP messages pass unrecorded, because no later request could open them.
public final class RecordingTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let writer: RecordingWriter
    private let redactor: Redactor
    private let limits: RecordingLimits

    /// Begins a recording, or continues the one in the folder.
    ///
    /// - Parameters:
    ///   - base: The transport that sends the requests.
    ///   - folder: Where to record; made with mode 0700 if it is missing.
    ///   - redaction: What to keep, and what to redact.
    ///   - limits: What bounds the recording.
    /// - Throws: `TransportError` with code `recordingFailed` when the folder cannot be made or other users can write to it, and with code
    ///   `unsupported` when `base` is a `TestOnlyTransport`.
    public init(
        wrapping base: any HTTPTransport, into folder: URL, redaction: RecordingRedaction = .standard,
        limits: RecordingLimits = RecordingLimits()
    ) throws {
        guard !(base is any TestOnlyTransport) else {
            throw TransportError(.unsupported, "\(type(of: base)) does not reach a server: wrap a transport that does")
        }
        self.base = base
        self.limits = limits
        redactor = try Redactor(redaction)
        writer = try RecordingWriter(folder, limits)
    }

    /// Sends the request over the other transport and records the exchange.
    ///
    /// - Parameter request: The request.
    /// - Returns: The response.
    /// - Throws: What the other transport throws. `TransportError` with code `recordingFailed` when the exchange cannot be recorded: from
    ///   this call, or from the body when it has been read to its end.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard !Self.isEncapsulated(request) else { return try await base.send(request) }
        let number = try writer.number()
        var secrets: Set<NotedSecret> = []
        let url = redactor.url(request.url.text, &secrets)
        let path = RecordedURL(reference: request.url.text).path
        // Only notes the secrets: the lines of the recording also lose those that come later.
        _ = redactor.lines(request.headerFields, isRequest: true, &secrets)
        // The values that are redacted in the two bodies.
        var found: Set<NotedSecret> = []
        let digest = BodyDigest.recordedText(of: request, redactor, secrets, found: &found)
        let response: TransportResponse
        do {
            response = try await base.send(request)
        } catch {
            writer.giveUp(number, bytes: 0)
            throw error
        }

        let finish: @Sendable ([UInt8]) throws -> Void = { [redactor, writer, secrets, found] bytes in
            var (secrets, found) = (secrets, found)
            let body = try redactor.body(bytes, response.headerFields, found: &found)
            let responseLines = redactor.lines(response.headerFields, isRequest: false, from: path, found: found, &secrets)
            let requestLines = redactor.lines(request.headerFields, isRequest: true, found: found, &secrets)
            let exchange = RecordedExchange(
                method: request.method, url: url, requestLines: requestLines, bodyDigest: digest, status: response.status,
                version: response.version, responseLines: responseLines)
            let scrubbed = redactor.scrubbed(secrets.union(found), of: body, response.headerFields)
            try writer.write(exchange, body: scrubbed, number: number, reserved: bytes.count)
        }
        let source = RecordedBodySource(response.body, writer, number: number, finish: finish)
        // Callers drop the bodies of redirects and of responses that they retry, so those are read here.
        guard (200..<300).contains(response.status), response.status != 204, request.method != .head else {
            var whole: [UInt8] = []
            while let part = try await source.next() { whole += part }
            return TransportResponse(response, body: ResponseBody(source: ReadBodySource(whole, trailers: source.trailers)))
        }
        return TransportResponse(response, body: ResponseBody(source: source))
    }

    private static func isEncapsulated(_ request: TransportRequest) -> Bool {
        request.headerFields.mediaType.hasPrefix("message/ohttp-")
    }
}

extension TransportResponse {
    /// The same response with another body.
    fileprivate init(_ response: TransportResponse, body: ResponseBody) {
        self.init(status: response.status, headerFields: response.headerFields, version: response.version, url: response.url, body: body)
    }
}
