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
        CallSpan(span: tracer.startAnySpan(method == "_OTHER" ? "HTTP" : method, ofKind: .client), tracing: self, method: method)
    }
}

/// The span of one call, with the attributes that OpenTelemetry's conventions for HTTP clients name.
///
/// It gets them when it ends, all in one go: each change of a span's attributes copies what it has.
struct CallSpan: Sendable {
    fileprivate let span: any Span
    fileprivate let tracing: CallTracing
    fileprivate let method: String

    /// Adds the trace context to the fields, as the tracer writes it; for example in `traceparent`.
    func inject(into fields: inout HTTPFields) {
        tracing.tracer.inject(span.context, into: &fields, using: FieldInjector(reserved: tracing.reserved))
    }

    /// Ends the span of a call that got a response.
    ///
    /// - Parameters:
    ///   - request: The request that was sent first.
    ///   - status: The status.
    ///   - version: The protocol, such as "HTTP/2".
    ///   - resent: The number of requests that were sent after the first one.
    func end(_ request: RequestSummary?, status: Int, version: String, resent: Int) {
        var attributes = attributes(of: request, status, resent)
        if version.hasPrefix("HTTP/") { attributes["network.protocol.version"] = .string(String(version.dropFirst(5))) }
        if status >= 400 { attributes["error.type"] = .string(String(status)) }
        end(with: attributes, isFailure: status >= 400)
    }

    /// Ends the span of a call that failed.
    ///
    /// - Parameters:
    ///   - request: The request that was sent first; nil if none was.
    ///   - code: The kind of failure; nil for a cancellation.
    ///   - status: The status; nil without a response.
    ///   - resent: The number of requests that were sent after the first one.
    func end(_ request: RequestSummary?, failure code: ApproovError.Code?, status: Int?, resent: Int) {
        var attributes = attributes(of: request, status, resent)
        attributes["error.type"] = .string(FailureLabel.of(code))
        end(with: attributes, isFailure: true)
    }

    private func attributes(of request: RequestSummary?, _ status: Int?, _ resent: Int) -> [String: SpanAttribute] {
        var attributes: [String: SpanAttribute] = [:]
        attributes.reserveCapacity(Self.maximumAttributes)
        attributes["http.request.method"] = .string(method)
        if let status { attributes["http.response.status_code"] = .int64(Int64(status)) }
        if resent > 0 { attributes["http.request.resend_count"] = .int64(Int64(resent)) }
        guard let request else { return attributes }
        let query = request.queryNames.map { $0 == "*" ? "REDACTED" : "\($0)=REDACTED" }.joined(separator: "&")
        let isDefaultPort = request.port == (request.scheme == "https" ? 443 : 80)
        let host = request.host.contains(":") ? "[\(request.host)]" : request.host
        attributes["server.address"] = .string(request.host)
        attributes["server.port"] = .int64(Int64(request.port))
        attributes["url.scheme"] = .string(request.scheme)
        attributes["url.full"] = .string(
            "\(request.scheme)://\(host)\(isDefaultPort ? "" : ":\(request.port)")\(request.path)\(query.isEmpty ? "" : "?\(query)")")
        attributes["approov.attested"] = .bool(request.isAttested)
        attributes["approov.oblivious"] = .bool(request.isOblivious)
        return attributes
    }

    private func end(with attributes: [String: SpanAttribute], isFailure: Bool) {
        // The tracer may have given the span some of its own.
        let earlier = span.attributes
        if earlier.isEmpty {
            span.attributes = SpanAttributes(attributes)
        } else {
            var all = earlier
            all.merge(SpanAttributes(attributes))
            span.attributes = all
        }
        if isFailure { span.setStatus(SpanStatus(code: .error)) }
        span.end()
    }

    /// The most attributes that a span gets here.
    private static let maximumAttributes = 11
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
