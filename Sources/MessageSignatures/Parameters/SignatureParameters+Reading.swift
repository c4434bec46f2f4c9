internal import ApproovBase

extension SignatureParameters {
    /// Reads a member of Signature-Input.
    ///
    /// - Parameters:
    ///   - items: The items of the inner list.
    ///   - received: The parameters of the inner list.
    /// - Throws: ``MessageSignatureError`` with code `malformedField`, `invalidComponent` or `unknownParameter`.
    init(
        items: [StructuredFieldReader.Item], parameters received: [StructuredFieldReader.Parameter]
    ) throws(MessageSignatureError) {
        // The base refuses a component that is covered twice.
        var components: [SignatureComponent] = []
        components.reserveCapacity(items.count)
        for item in items { components.append(try SignatureComponent(item)) }
        self.init(components)
        for parameter in received {
            switch (parameter.key, parameter.value) {
            case ("alg", .string(let text)): algorithm = text
            case ("created", .integer(let seconds)) where seconds >= 0: created = seconds
            case ("expires", .integer(let seconds)) where seconds >= 0: expires = seconds
            case ("keyid", .string(let text)): keyID = text
            case ("nonce", .string(let text)): nonce = text
            case ("tag", .string(let text)): tag = text
            case ("alg", _), ("created", _), ("expires", _), ("keyid", _), ("nonce", _), ("tag", _):
                throw MessageSignatureError(.malformedField, "the signature parameter \(parameter.key) has the wrong type")
            default:
                throw MessageSignatureError(
                    .unknownParameter, "the signature has the unknown parameter \(LoggableText.name(parameter.key))")
            }
        }
    }
}

extension SignatureComponent {
    /// Reads an item of Signature-Input.
    ///
    /// - Throws: ``MessageSignatureError`` with code `malformedField` or `invalidComponent`.
    fileprivate init(_ item: StructuredFieldReader.Item) throws(MessageSignatureError) {
        guard case .string(let name) = item.value else {
            throw MessageSignatureError(.malformedField, "Signature-Input has a component identifier that is not a string")
        }
        var parameters: [Parameter] = []
        for parameter in item.parameters {
            switch (parameter.key, parameter.value) {
            case ("sf", .boolean(true)): parameters.append(.structured)
            case ("bs", .boolean(true)): parameters.append(.bytes)
            case ("req", .boolean(true)): parameters.append(.request)
            case ("tr", .boolean(true)): parameters.append(.trailer)
            case ("key", .string(let key)): parameters.append(.key(key))
            case ("name", .string(let name)): parameters.append(.name(name))
            default:
                throw MessageSignatureError(
                    .invalidComponent, "a component identifier has the unknown parameter \(LoggableText.name(parameter.key))")
            }
        }
        try self.init(name, parameters)
    }
}
