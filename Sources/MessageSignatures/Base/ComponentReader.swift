internal import ApproovBase
internal import HTTPTypes

/// Writes the values of a message's components (RFC 9421, sections 2.1 to 2.4).
struct ComponentReader {
    private let message: SignableMessage
    private let structuredFields: StructuredFields

    init(_ message: SignableMessage, structuredFields: StructuredFields) {
        self.message = message
        self.structuredFields = structuredFields
    }

    /// Appends a component's value.
    ///
    /// - Throws: ``MessageSignatureError`` as the signature base throws it.
    func write(_ component: SignatureComponent, to output: inout [UInt8]) throws(MessageSignatureError) {
        if component.source == .field {
            try writeField(component, to: &output)
        } else if component.source == .status {
            guard case .response(let response) = message else { throw Self.unfit(component) }
            output.append(contentsOf: String(response.status).utf8)
        } else {
            try write(component, of: try request(for: component), to: &output)
        }
    }

    private func write(
        _ component: SignatureComponent, of request: SignableRequest, to output: inout [UInt8]
    ) throws(MessageSignatureError) {
        switch component.source {
        case .method: output.append(contentsOf: request.method.utf8)
        case .targetURI: output.append(contentsOf: request.target.text.utf8)
        case .authority: output.append(contentsOf: request.target.authority.utf8)
        case .scheme: output.append(contentsOf: request.target.scheme.utf8)
        case .requestTarget: output.append(contentsOf: (request.requestTarget ?? request.target.pathAndQuery).utf8)
        case .path: output.append(contentsOf: request.target.path.utf8)
        case .query:
            output.append(UInt8(ascii: "?"))
            if let query = request.target.queryText { output.append(contentsOf: query) }
        case .queryParameter:
            for case .name(let name) in component.parameters {
                output.append(contentsOf: try QueryParameters.value(of: name, in: request.target.queryText ?? ""[...].utf8))
            }
        case .status, .field: throw Self.unfit(component)
        }
    }

    /// The request that a component is taken from: the message itself, or with `req` the one that a response answers.
    private func request(for component: SignatureComponent) throws(MessageSignatureError) -> SignableRequest {
        switch (message, component.parameters.contains(.request)) {
        case (.request(let request), false): return request
        case (.response(let response), true):
            guard let request = response.request else {
                throw MessageSignatureError(.missingComponent, "a component with the parameter req needs the request of the response")
            }
            return request
        default: throw Self.unfit(component)
        }
    }

    private func writeField(_ component: SignatureComponent, to output: inout [UInt8]) throws(MessageSignatureError) {
        let parameters = component.parameters
        let ofRequest = parameters.contains(.request)
        let fields: HTTPFields?
        let trailers: HTTPFields?
        if case .response(let response) = message, !ofRequest {
            (fields, trailers) = (response.fields, response.trailers)
        } else {
            let request = try request(for: component)
            (fields, trailers) = (request.fields, request.trailers)
        }
        guard let source = parameters.contains(.trailer) ? trailers : fields else { throw Self.missing(component) }
        if parameters.contains(.bytes) {
            try write(component, in: source, to: &output) { output, line in
                var trimmed: [UInt8] = []
                trimmed.appendTrimmed(line)
                output.append(UInt8(ascii: ":"))
                output.append(contentsOf: Base64.encode(trimmed).utf8)
                output.append(UInt8(ascii: ":"))
            }
            return
        }
        let key = parameters.lazy.compactMap { if case .key(let key) = $0 { key } else { nil } }.first
        guard key != nil || parameters.contains(.structured) else {
            try write(component, in: source, to: &output) { $0.appendTrimmed($1) }
            return
        }
        var joined: [UInt8] = []
        try write(component, in: source, to: &joined) { $0.appendTrimmed($1) }
        output.append(contentsOf: try structuredFields.canonical(joined, ofField: component.name, member: key))
    }

    /// Appends each line of a field, with a comma and a space between them.
    private func write(
        _ component: SignatureComponent, in fields: HTTPFields, to output: inout [UInt8],
        line append: (inout [UInt8], UnsafeBufferPointer<UInt8>) -> Void
    ) throws(MessageSignatureError) {
        var isFound = false
        for field in fields where field.name.canonicalName == component.name {
            if isFound { output.appendSeparator() }
            isFound = true
            field.withUnsafeBytesOfValue { append(&output, $0) }
        }
        guard isFound else { throw Self.missing(component) }
    }

    private static func missing(_ component: SignatureComponent) -> MessageSignatureError {
        MessageSignatureError(.missingComponent, "the message lacks the covered component \(LoggableText.name(component.description))")
    }

    private static func unfit(_ component: SignatureComponent) -> MessageSignatureError {
        MessageSignatureError(
            .invalidComponent, "\(LoggableText.name(component.description)) does not fit the message (RFC 9421, sections 2.2 and 2.4)")
    }
}
