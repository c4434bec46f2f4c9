internal import ApproovBase
public import HTTPTypes

/// The identifier of one component of a message that a signature covers (RFC 9421, section 2).
///
///     let covered: [SignatureComponent] = [.method, .targetURI, .field(.contentType), try SignatureComponent("example", [.key("a")])]
///
/// Two identifiers are equal when their names and parameters are, whatever the order of the parameters.
public struct SignatureComponent: Sendable {
    /// A parameter of a component identifier (RFC 9421, section 2.1).
    public enum Parameter: Sendable, Hashable {
        /// `sf`: The field's value in the strict form of a structured field, within the limits of ``StructuredFields``.
        case structured
        /// `key`: One member of a field that is a dictionary, within the limits of ``StructuredFields``.
        case key(String)
        /// `bs`: Each line of the field as a byte sequence.
        case bytes
        /// `req`: The component of the request that a response answers.
        case request
        /// `tr`: The field in the trailers.
        case trailer
        /// `name`: The percent-encoded name of a query parameter.
        case name(String)
    }

    /// The name: of a field, in lower case, or of a derived component, beginning with `@`.
    public let name: String
    /// The parameters, in the order in which they are written.
    public let parameters: [Parameter]
    /// What the name stands for.
    let source: ComponentSource

    init(unchecked source: ComponentSource, _ name: String, _ parameters: [Parameter] = []) {
        self.source = source
        self.name = name
        self.parameters = parameters
    }

    /// Makes an identifier.
    ///
    /// - Parameters:
    ///   - name: The name of a field, in lower case, or of a derived component, such as `@method`.
    ///   - parameters: The parameters, in the order in which they are written.
    /// - Throws: ``MessageSignatureError`` with code `invalidComponent` when the name is neither a field name in lower case nor a derived
    ///   component of RFC 9421, section 2.2, or when the parameters do not fit it or each other.
    public init(_ name: String, _ parameters: [Parameter] = []) throws(MessageSignatureError) {
        guard let source = ComponentSource(name: name) else {
            throw MessageSignatureError(
                .invalidComponent,
                "\(LoggableText.name(name)) is neither a field name in lower case nor a derived component of RFC 9421, section 2.2")
        }
        guard source.allows(parameters) else {
            throw MessageSignatureError(
                .invalidComponent, "\(LoggableText.name(name)) cannot have these parameters (RFC 9421, sections 2.1 and 2.2)")
        }
        self.init(unchecked: source, name, parameters)
    }

    /// `@method`: The method.
    public static let method = SignatureComponent(unchecked: .method, "@method")
    /// `@target-uri`: The whole target URI.
    public static let targetURI = SignatureComponent(unchecked: .targetURI, "@target-uri")
    /// `@authority`: The host in lower case, and the port unless it is the scheme's default.
    public static let authority = SignatureComponent(unchecked: .authority, "@authority")
    /// `@scheme`: The scheme in lower case.
    public static let scheme = SignatureComponent(unchecked: .scheme, "@scheme")
    /// `@request-target`: The target as the request line of HTTP/1.1 has it.
    public static let requestTarget = SignatureComponent(unchecked: .requestTarget, "@request-target")
    /// `@path`: The path, not decoded; `/` if it is empty.
    public static let path = SignatureComponent(unchecked: .path, "@path")
    /// `@query`: The query, not decoded, with its leading `?`.
    public static let query = SignatureComponent(unchecked: .query, "@query")
    /// `@status`: The status code of a response.
    public static let status = SignatureComponent(unchecked: .status, "@status")

    /// `content-digest`: The digest of the content (RFC 9530), which the receiver must check.
    public static let contentDigest = SignatureComponent(unchecked: .field, "content-digest")

    /// `@query-param`: One query parameter, which must occur exactly once.
    ///
    /// - Parameter name: The decoded name of the parameter.
    /// - Returns: The identifier; its parameter `name` has the percent-encoded name.
    public static func queryParameter(_ name: String) -> SignatureComponent {
        let encoded = QueryParameters.encode(decoded: Array(name.utf8))
        return SignatureComponent(unchecked: .queryParameter, "@query-param", [.name(String(decoding: encoded, as: UTF8.self))])
    }

    /// A header field: its lines, trimmed and joined with a comma and a space; lines of Cookie with a semicolon and a space.
    ///
    /// - Parameter name: The field's name.
    /// - Returns: The identifier.
    public static func field(_ name: HTTPField.Name) -> SignatureComponent {
        SignatureComponent(unchecked: .field, name.canonicalName)
    }

    /// The same component of the request that a response answers: adds the parameter `req`.
    ///
    /// A request has no status, so a signature base refuses `@status` with this parameter.
    public var ofRequest: SignatureComponent {
        parameters.contains(.request) ? self : SignatureComponent(unchecked: source, name, parameters + [.request])
    }
}

extension SignatureComponent: Hashable {
    /// Compares names and parameters, whatever the order of the parameters.
    ///
    /// - Parameters:
    ///   - left: An identifier.
    ///   - right: Another identifier.
    /// - Returns: True when both stand for the same component.
    public static func == (left: SignatureComponent, right: SignatureComponent) -> Bool {
        // An identifier has no parameter twice.
        left.name == right.name && left.parameters.count == right.parameters.count
            && left.parameters.allSatisfy { right.parameters.contains($0) }
    }

    /// Hashes the name.
    ///
    /// - Parameter hasher: The hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension SignatureComponent: CustomStringConvertible {
    /// The identifier as a signature base has it, such as `"@query-param";name="id"`.
    public var description: String {
        var text: [UInt8] = []
        write(to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}

extension SignatureComponent {
    /// Writes the identifier (RFC 9421, section 2.5).
    func write(to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        output.append(contentsOf: name.utf8)
        output.append(UInt8(ascii: "\""))
        for parameter in parameters {
            output.append(UInt8(ascii: ";"))
            switch parameter {
            case .structured: output.append(contentsOf: "sf".utf8)
            case .bytes: output.append(contentsOf: "bs".utf8)
            case .request: output.append(contentsOf: "req".utf8)
            case .trailer: output.append(contentsOf: "tr".utf8)
            case .key(let key):
                output.append(contentsOf: "key=".utf8)
                output.appendQuoted(key)
            case .name(let name):
                output.append(contentsOf: "name=".utf8)
                output.appendQuoted(name)
            }
        }
    }
}
