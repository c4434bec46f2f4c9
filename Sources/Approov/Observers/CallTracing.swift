@_spi(Internals) import ApproovBase
import HTTPClient
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
    ///   - target: Where the request that was sent first went.
    ///   - status: The status.
    ///   - version: The protocol, such as "HTTP/2".
    ///   - resent: The number of requests that were sent after the first one.
    func end(_ target: CallTarget?, status: Int, version: String, resent: Int) {
        let failure = status >= 400 ? String(status) : nil
        end(CallAttributes(method: method, target: target, status: status, version: version, resent: resent, failure: failure))
    }

    /// Ends the span of a call that failed.
    ///
    /// - Parameters:
    ///   - target: Where the request that was sent first went; nil if none was sent.
    ///   - code: The kind of failure; nil for a cancellation.
    ///   - status: The status; nil without a response.
    ///   - resent: The number of requests that were sent after the first one.
    func end(_ target: CallTarget?, failure code: ApproovError.Code?, status: Int?, resent: Int) {
        end(CallAttributes(method: method, target: target, status: status, resent: resent, failure: FailureLabel.of(code)))
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
    var method: String
    /// Where the request that was sent first went; nil if none was sent.
    var target: CallTarget?
    var status: Int?
    var version: String?
    /// The number of requests that were sent after the first one.
    var resent: Int
    /// The value of `error.type`; nil for a success.
    var failure: String?

    /// The attributes by their names.
    var all: [String: SpanAttribute] {
        var attributes: [String: SpanAttribute] = ["http.request.method": .string(method)]
        if let status { attributes["http.response.status_code"] = .int64(Int64(status)) }
        if let version, version.hasPrefix("HTTP/") { attributes["network.protocol.version"] = .string(String(version.dropFirst(5))) }
        if resent > 0 { attributes["http.request.resend_count"] = .int64(Int64(resent)) }
        if let failure { attributes["error.type"] = .string(failure) }
        guard let target else { return attributes }
        attributes["server.address"] = .string(target.host)
        attributes["server.port"] = .int64(Int64(target.port))
        attributes["url.scheme"] = .string(target.scheme)
        attributes["url.full"] = .string(target.url)
        attributes["approov.attested"] = .bool(target.isAttested)
        attributes["approov.oblivious"] = .bool(target.isOblivious)
        return attributes
    }
}

extension CallTarget {
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
        guard let name = HTTPField.Name(key), !key.hasPrefix(":"), !reserved.contains(name.canonicalName),
            let field = HTTPField(name, valid: value)
        else { return }
        if carrier.scan(for: name) { carrier[fields: name] = [field] } else { carrier.append(field) }
    }
}
