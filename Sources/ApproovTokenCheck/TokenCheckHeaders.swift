internal import Attestation
internal import HTTPTypes

/// Reads the token and the binding values from a request's header fields.
@usableFromInline struct TokenCheckHeaders: Sendable {
    /// The token header's name, unless the operator names another one.
    @usableFromInline static let standardTokenName = "Approov-Token"

    let tokenName: HTTPField.Name
    private let prefix: String
    let bindingNames: [HTTPField.Name]

    init(token: String, prefix: String, binding: [String]) throws {
        func name(_ text: String) throws -> HTTPField.Name {
            guard let name = HTTPField.Name(text) else {
                throw TokenCheckError(.invalidConfiguration, "\"\(text)\" is not a header name (RFC 9110, section 5.1)")
            }
            return name
        }
        tokenName = try name(token)
        bindingNames = try binding.map(name)
        guard Set(bindingNames).count == bindingNames.count, !bindingNames.contains(tokenName) else {
            throw TokenCheckError(
                .invalidConfiguration, "binding headers must differ from each other and from the token header \(token)")
        }
        self.prefix = prefix
    }

    /// Why a request has no token to check.
    enum Flaw: String, Error {
        case missingToken, repeatedToken, missingPrefix
    }

    /// The token, if exactly one field line carries it.
    func token(in fields: HTTPFields) -> Result<String, Flaw> {
        let lines = fields[values: tokenName]
        guard let value = lines.first else { return .failure(.missingToken) }
        guard lines.count == 1 else { return .failure(.repeatedToken) }
        guard value.hasPrefix(prefix) else { return .failure(.missingPrefix) }
        return .success(String(value.dropFirst(prefix.count)))
    }

    /// The value that a token may be bound to: one element, or none when a binding header is missing or empty.
    /// - Returns: The value; nil when a binding header occurs twice or is not UTF-8.
    func boundValues(in fields: HTTPFields) -> [String]? {
        let joined = Binding.join(count: bindingNames.count) { index in
            let lines = fields[values: bindingNames[index]]
            guard lines.count <= 1 else { return .unusable }
            guard let line = lines.first else { return .missing }
            // The server has replaced bytes that are not UTF-8 by U+FFFD. No token is bound to such a value.
            return line.unicodeScalars.contains("\u{FFFD}") ? .unusable : .one(line)
        }
        return switch joined {
        case .value(let value): [value]
        case .missing: []
        case .unusable: nil
        }
    }
}
