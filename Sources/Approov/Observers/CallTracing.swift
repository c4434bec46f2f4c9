@_spi(Internals) import ApproovBase
import HTTPTypes
import Instrumentation
import Tracing

/// Makes a span for each call of the app.
final class CallTracing: Sendable {
    private let tracer: any Tracer
    /// The names, in lower case, of the fields that a tracer must not set.
    private let reserved: Set<String>
    /// Those of the last call: many calls in a row have equal ones, and it takes longer to make them than to compare.
    fileprivate let attributes = LastValue<CallAttributes, SpanAttributes>()

    /// - Parameters:
    ///   - tracer: The app's tracer.
    ///   - reserved: The names, in lower case, of the fields that it must not set.
    init(tracer: any Tracer, reserved: Set<String>) {
        (self.tracer, self.reserved) = (tracer, reserved)
    }

    /// Starts the span of a call, as a child of the task's current one.
    ///
    /// - Parameter method: The method's label.
    /// - Returns: The span, which the caller must end.
    func begin(_ method: String) -> CallSpan {
        CallSpan(span: tracer.startAnySpan(method == "_OTHER" ? "HTTP" : method, ofKind: .client), tracing: self, method: method)
    }

    /// Adds the context of a span to the fields, as the tracer writes it.
    fileprivate func inject(_ span: any Span, into fields: inout HTTPFields) {
        tracer.inject(span.context, into: &fields, using: FieldInjector(reserved: reserved))
    }
}

/// The span of one call, with the attributes that OpenTelemetry's conventions for HTTP clients name.
///
/// It gets them when it ends, all in one go: each change of a span's attributes copies what it has.
final class CallSpan: Sendable {
    private let span: any Span
    private let tracing: CallTracing
    private let method: String

    fileprivate init(span: any Span, tracing: CallTracing, method: String) {
        (self.span, self.tracing, self.method) = (span, tracing, method)
    }

    /// Adds the trace context to the fields, as the tracer writes it; for example in `traceparent`.
    func inject(into fields: inout HTTPFields) {
        tracing.inject(span, into: &fields)
    }

    /// Ends the span of a call that got a response.
    ///
    /// - Parameters:
    ///   - request: The request that was sent first.
    ///   - status: The status.
    ///   - version: The protocol, such as "HTTP/2".
    ///   - resent: The number of requests that were sent after the first one.
    func end(_ request: RequestSummary?, status: Int, version: String, resent: Int) {
        let failure = status >= 400 ? String(status) : nil
        end(CallAttributes(method: method, request: request, status: status, version: version, resent: resent, failure: failure))
    }

    /// Ends the span of a call that failed.
    ///
    /// - Parameters:
    ///   - request: The request that was sent first; nil if none was.
    ///   - code: The kind of failure; nil for a cancellation.
    ///   - status: The status; nil without a response.
    ///   - resent: The number of requests that were sent after the first one.
    func end(_ request: RequestSummary?, failure code: ApproovError.Code?, status: Int?, resent: Int) {
        end(CallAttributes(method: method, request: request, status: status, resent: resent, failure: FailureLabel.of(code)))
    }

    private func end(_ call: CallAttributes) {
        let attributes = tracing.attributes.value(for: call) { SpanAttributes($0.all) }
        // The tracer may have given the span some attributes already.
        var earlier = span.attributes
        if earlier.isEmpty {
            span.attributes = attributes
        } else {
            earlier.merge(attributes)
            span.attributes = earlier
        }
        if call.failure != nil { span.setStatus(SpanStatus(code: .error)) }
        span.end()
    }
}

/// What the attributes of a span tell of a call.
private struct CallAttributes: Equatable, Sendable {
    /// What they tell of the request that was sent first.
    struct Request: Equatable, Sendable {
        var scheme: String
        var host: String
        var port: Int
        var path: String
        var queryNames: [String]
        var isAttested: Bool
        var isOblivious: Bool
    }

    var method: String
    var request: Request?
    var status: Int?
    var version: String?
    /// The number of requests that were sent after the first one.
    var resent: Int
    /// The value of `error.type`; nil for a success.
    var failure: String?

    init(method: String, request: RequestSummary?, status: Int?, version: String? = nil, resent: Int, failure: String?) {
        self.method = method
        self.request = request.map { request in
            Request(
                scheme: request.scheme, host: request.host, port: request.port, path: request.path, queryNames: request.queryNames,
                isAttested: request.isAttested, isOblivious: request.isOblivious)
        }
        self.status = status
        self.version = version
        self.resent = resent
        self.failure = failure
    }

    /// The attributes by their names.
    var all: [String: SpanAttribute] {
        var attributes: [String: SpanAttribute] = ["http.request.method": .string(method)]
        if let status { attributes["http.response.status_code"] = .int64(Int64(status)) }
        if let version, version.hasPrefix("HTTP/") { attributes["network.protocol.version"] = .string(String(version.dropFirst(5))) }
        if resent > 0 { attributes["http.request.resend_count"] = .int64(Int64(resent)) }
        if let failure { attributes["error.type"] = .string(failure) }
        guard let request else { return attributes }
        attributes["server.address"] = .string(request.host)
        attributes["server.port"] = .int64(Int64(request.port))
        attributes["url.scheme"] = .string(request.scheme)
        attributes["url.full"] = .string(request.url)
        attributes["approov.attested"] = .bool(request.isAttested)
        attributes["approov.oblivious"] = .bool(request.isOblivious)
        return attributes
    }
}

extension CallAttributes.Request {
    /// The URL without the values of its query.
    fileprivate var url: String {
        let query = queryNames.map { $0 == "*" ? "REDACTED" : "\($0)=REDACTED" }.joined(separator: "&")
        let isDefaultPort = port == (scheme == "https" ? 443 : 80)
        let name = host.contains(":") ? "[\(host)]" : host
        return "\(scheme)://\(name)\(isDefaultPort ? "" : ":\(port)")\(path)\(query.isEmpty ? "" : "?\(query)")"
    }
}

/// Writes a tracer's values into header fields.
struct FieldInjector: Injector {
    let reserved: Set<String>

    func inject(_ value: String, forKey key: String, into carrier: inout HTTPFields) {
        guard let name = HTTPField.Name(key), !key.hasPrefix(":"), !reserved.contains(name.canonicalName), HTTPField.isValidValue(value)
        else { return }
        carrier[name] = value
    }
}
