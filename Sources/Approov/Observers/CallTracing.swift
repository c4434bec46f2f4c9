import HTTPTypes
import Instrumentation
import Tracing

/// Makes a span for each call of the app.
struct CallTracing: Sendable {
    let tracer: any Tracer
    /// The names, in lower case, of the fields that a tracer must not set.
    let reserved: Set<String>

    /// Starts the span of a call, as a child of the task's current one.
    ///
    /// - Parameter method: The method's label.
    /// - Returns: The span, which the caller must end.
    func begin(_ method: String) -> CallSpan {
        let span = tracer.startAnySpan(method == "_OTHER" ? "HTTP" : method, ofKind: .client)
        span.attributes["http.request.method"] = method
        return CallSpan(span: span, tracing: self)
    }
}

/// The span of one call, with the attributes that OpenTelemetry's conventions for HTTP clients name.
struct CallSpan: Sendable {
    fileprivate let span: any Span
    fileprivate let tracing: CallTracing

    /// Adds the trace context to the fields, as the tracer writes it; for example in `traceparent`.
    func inject(into fields: inout HTTPFields) {
        tracing.tracer.inject(span.context, into: &fields, using: FieldInjector(reserved: tracing.reserved))
    }

    /// Says what is sent.
    func describe(_ request: RequestSummary) {
        let query = request.queryNames.map { $0 == "*" ? "REDACTED" : "\($0)=REDACTED" }.joined(separator: "&")
        let isDefaultPort = request.port == (request.scheme == "https" ? 443 : 80)
        let host = request.host.contains(":") ? "[\(request.host)]" : request.host
        var attributes = span.attributes
        attributes["server.address"] = request.host
        attributes["server.port"] = request.port
        attributes["url.scheme"] = request.scheme
        attributes["url.full"] =
            "\(request.scheme)://\(host)\(isDefaultPort ? "" : ":\(request.port)")\(request.path)\(query.isEmpty ? "" : "?\(query)")"
        attributes["approov.attested"] = request.isAttested
        attributes["approov.oblivious"] = request.isOblivious
        span.attributes = attributes
    }

    /// Ends the span of a call that got a response.
    func end(status: Int, version: String, resent: Int) {
        // In one go: each change copies what the span has.
        var attributes = span.attributes
        Self.note(status, resent, in: &attributes)
        if version.hasPrefix("HTTP/") { attributes["network.protocol.version"] = String(version.dropFirst(5)) }
        if status >= 400 { attributes["error.type"] = String(status) }
        span.attributes = attributes
        if status >= 400 { span.setStatus(SpanStatus(code: .error)) }
        span.end()
    }

    /// Ends the span of a call that failed.
    func end(failure code: ApproovError.Code?, status: Int?, resent: Int) {
        var attributes = span.attributes
        Self.note(status, resent, in: &attributes)
        attributes["error.type"] = FailureLabel.of(code)
        span.attributes = attributes
        span.setStatus(SpanStatus(code: .error))
        span.end()
    }

    private static func note(_ status: Int?, _ resent: Int, in attributes: inout SpanAttributes) {
        if let status { attributes["http.response.status_code"] = status }
        if resent > 0 { attributes["http.request.resend_count"] = resent }
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
