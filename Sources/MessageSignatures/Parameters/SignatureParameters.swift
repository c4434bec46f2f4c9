internal import ApproovBase

/// The covered components and the parameters of a signature (RFC 9421, section 2.3).
///
///     var parameters = SignatureParameters([.method, .targetURI])
///     parameters.algorithm = SignatureAlgorithm.ecdsaP256SHA256.rawValue
///     parameters.created = 1_700_000_000
///     parameters.expires = 1_700_000_015
///
/// The parameters are written in the order in which they were first set.
public struct SignatureParameters: Sendable, Hashable {
    private enum Parameter: Sendable, Hashable {
        case algorithm(String), created(Int64), expires(Int64), keyID(String), nonce(String), tag(String)

        /// The name in the field.
        var key: String {
            switch self {
            case .algorithm: "alg"
            case .created: "created"
            case .expires: "expires"
            case .keyID: "keyid"
            case .nonce: "nonce"
            case .tag: "tag"
            }
        }
    }

    /// The covered components, in order.
    public var components: [SignatureComponent]
    private var parameters: [Parameter] = []

    /// Makes parameters without any but the covered components.
    ///
    /// - Parameter components: The covered components, in order.
    public init(_ components: [SignatureComponent]) {
        self.components = components
        parameters.reserveCapacity(4)
    }

    /// `alg`: The algorithm's name in the registry of RFC 9421, section 6.2.
    public var algorithm: String? {
        get { first { if case .algorithm(let value) = $0 { value } else { nil } } }
        set { set("alg", newValue.map(Parameter.algorithm)) }
    }

    /// `created`: When the signature was made, in seconds since 1970.
    public var created: Int64? {
        get { first { if case .created(let value) = $0 { value } else { nil } } }
        set { set("created", newValue.map(Parameter.created)) }
    }

    /// `expires`: When the signature stops being valid, in seconds since 1970.
    public var expires: Int64? {
        get { first { if case .expires(let value) = $0 { value } else { nil } } }
        set { set("expires", newValue.map(Parameter.expires)) }
    }

    /// `keyid`: The name of the key.
    public var keyID: String? {
        get { first { if case .keyID(let value) = $0 { value } else { nil } } }
        set { set("keyid", newValue.map(Parameter.keyID)) }
    }

    /// `nonce`: A random text that makes the signature unique.
    public var nonce: String? {
        get { first { if case .nonce(let value) = $0 { value } else { nil } } }
        set { set("nonce", newValue.map(Parameter.nonce)) }
    }

    /// `tag`: What the application uses the signature for.
    public var tag: String? {
        get { first { if case .tag(let value) = $0 { value } else { nil } } }
        set { set("tag", newValue.map(Parameter.tag)) }
    }

    private func first<Value>(_ value: (Parameter) -> Value?) -> Value? {
        for parameter in parameters {
            if let value = value(parameter) { return value }
        }
        return nil
    }

    private mutating func set(_ key: String, _ parameter: Parameter?) {
        let index = parameters.firstIndex { $0.key == key }
        switch (index, parameter) {
        case (let index?, let parameter?): parameters[index] = parameter
        case (let index?, nil): parameters.remove(at: index)
        case (nil, let parameter?): parameters.append(parameter)
        case (nil, nil): break
        }
    }
}

extension SignatureParameters {
    /// Appends the inner list and its parameters, the value of `@signature-params`.
    ///
    /// - Throws: ``MessageSignatureError`` with code `invalidParameter` when a text is not printable ASCII, or a time is not 0 to
    ///   999,999,999,999,999.
    func write(to output: inout [UInt8]) throws(MessageSignatureError) {
        output.append(UInt8(ascii: "("))
        for (index, component) in components.enumerated() {
            if index > 0 { output.append(UInt8(ascii: " ")) }
            component.write(to: &output)
        }
        output.append(UInt8(ascii: ")"))
        for parameter in parameters {
            output.append(UInt8(ascii: ";"))
            output.append(contentsOf: parameter.key.utf8)
            output.append(UInt8(ascii: "="))
            switch parameter {
            case .created(let seconds), .expires(let seconds):
                guard (0...999_999_999_999_999).contains(seconds) else { throw Self.unwritable(parameter) }
                output.append(contentsOf: String(seconds).utf8)
            case .algorithm(let text), .keyID(let text), .nonce(let text), .tag(let text):
                guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { throw Self.unwritable(parameter) }
                output.appendQuoted(text)
            }
        }
    }

    private static func unwritable(_ parameter: Parameter) -> MessageSignatureError {
        MessageSignatureError(
            .invalidParameter, "the signature parameter \(parameter.key) is not printable ASCII, or not a time (RFC 9651, section 3.3)")
    }
}
