internal import ApproovBase
internal import HTTPTypes

/// Writes the values of a message's components (RFC 9421, sections 2.1 to 2.4).
struct ComponentReader {
    private let message: SignableMessage
    private let structuredFields: StructuredFields
    /// What was parsed for a component before.
    ///
    /// A signature may cover many members of one field, or many query parameters. Its sender must not be able to make this side parse the
    /// same text again for each.
    private var readFields: [SignatureComponent: StructuredField] = [:]
    private var readQuery: QueryParameters?

    init(_ message: SignableMessage, structuredFields: StructuredFields) {
        self.message = message
        self.structuredFields = structuredFields
    }

    /// Appends a component's value.
    ///
    /// - Throws: ``MessageSignatureError`` as the signature base throws it.
    mutating func write(_ component: SignatureComponent, to output: inout [UInt8]) throws(MessageSignatureError) {
        if component.source == .field {
            try writeField(component, to: &output)
        } else if component.source == .status {
            // Only `ofRequest` can have added a parameter: `@status` has none (RFC 9421, section 2.2.9).
            guard case .response(let response) = message, component.parameters.isEmpty else { throw Self.unfit(component) }
            output.append(contentsOf: String(response.status).utf8)
        } else {
            try write(component, of: try request(for: component), to: &output)
        }
    }

    private mutating func write(
        _ component: SignatureComponent, of request: SignableRequest, to output: inout [UInt8]
    ) throws(MessageSignatureError) {
        switch component.source {
        case .method: output.append(contentsOf: request.method.utf8)
        case .targetURI: output.append(contentsOf: request.target.text.utf8)
        case .authority: output.append(contentsOf: request.target.authority.utf8)
        case .scheme: output.append(contentsOf: request.target.scheme.utf8)
        case .requestTarget:
            let target = (request.requestTarget ?? request.target.pathAndQuery).utf8
            // The caller sets it unchecked: a line end in it would begin a line of the base that the message does not have.
            guard target.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw MessageSignatureError(.invalidMessage, "the request target is not visible ASCII (RFC 9112, section 3.2)")
            }
            output.append(contentsOf: target)
        case .path: output.append(contentsOf: request.target.path.utf8)
        case .query:
            output.append(UInt8(ascii: "?"))
            if let query = request.target.queryText { output.append(contentsOf: query) }
        case .queryParameter:
            // All query parameters are of one request: the message itself, or the request that it answers.
            let query = readQuery ?? QueryParameters(request.target.queryText ?? ""[...].utf8)
            readQuery = query
            for case .name(let name) in component.parameters { output.append(contentsOf: try query.value(of: name)) }
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

    private mutating func writeField(_ component: SignatureComponent, to output: inout [UInt8]) throws(MessageSignatureError) {
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
        let field = try structuredField(component, in: source)
        output.append(contentsOf: try field.strictForm(of: key))
    }

    private mutating func structuredField(
        _ component: SignatureComponent, in fields: HTTPFields
    ) throws(MessageSignatureError) -> StructuredField {
        let place = SignatureComponent(
            unchecked: .field, component.name, component.parameters.filter { $0 == .request || $0 == .trailer })
        if let field = readFields[place] { return field }
        var joined: [UInt8] = []
        try write(component, in: fields, to: &joined) { $0.appendTrimmed($1) }
        let field = try structuredFields.read(joined, ofField: component.name)
        readFields[place] = field
        return field
    }

    /// Appends each line of a field, with a comma and a space between them, or a semicolon and a space for Cookie.
    private func write(
        _ component: SignatureComponent, in fields: HTTPFields, to output: inout [UInt8],
        line append: (inout [UInt8], UnsafeBufferPointer<UInt8>) -> Void
    ) throws(MessageSignatureError) {
        var isFound = false
        for field in fields where field.name.canonicalName == component.name {
            if isFound {
                // Two cookies that are joined with a comma cannot be told from one.
                guard component.name != "set-cookie" || component.parameters.contains(.bytes) else {
                    throw MessageSignatureError(
                        .invalidComponent, "several lines of Set-Cookie can only be covered with the parameter bs (RFC 9421, section 2.1.3)"
                    )
                }
                if component.name == "cookie", !component.parameters.contains(.bytes) {
                    // HTTP/2 may split this one field, which is no list, at its semicolons (RFC 9113, section 8.2.3). Joined with commas,
                    // two cookies could not be told from one whose value has a comma.
                    output += "; ".utf8
                } else {
                    output.appendSeparator()
                }
            }
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
