import ApproovBase
import HTTPClient

/// A message of SOAP 1.1 or 1.2, as content of a request or read from a response.
///
/// ```swift
/// builder.method = .post
/// builder.body = SOAPEnvelope(version: .v1_1, action: "urn:cats#Find", body: [XMLElement("c:Find", attributes: [.init("xmlns:c", "urn:cats")])])
/// ```
public struct SOAPEnvelope: BodySerializer, Hashable {
    /// The versions of SOAP.
    public enum Version: Sendable, Hashable, CaseIterable {
        /// SOAP 1.1: `text/xml` with the header SOAPAction.
        case v1_1
        /// SOAP 1.2: `application/soap+xml`, whose parameter `action` names the action.
        case v1_2

        /// The namespace of the envelope.
        public var namespace: String {
            switch self {
            case .v1_1: "http://schemas.xmlsoap.org/soap/envelope/"
            case .v1_2: "http://www.w3.org/2003/05/soap-envelope"
            }
        }
    }

    /// The version.
    public var version: Version
    /// The action that the server is asked for; nil for none.
    public var action: String?
    /// The header blocks; none by default.
    public var headers: [XMLElement]
    /// The elements of the body.
    public var body: [XMLElement]

    /// Makes a message.
    ///
    /// - Parameters:
    ///   - version: The version.
    ///   - action: The action that the server is asked for, in visible ASCII characters; nil for none.
    ///   - headers: The header blocks.
    ///   - body: The elements of the body.
    public init(version: Version = .v1_2, action: String? = nil, headers: [XMLElement] = [], body: [XMLElement]) {
        self.version = version
        self.action = action
        self.headers = headers
        self.body = body
    }

    /// Reads a message.
    ///
    /// - Parameter document: The root element of a response.
    /// - Throws: ``APIError`` with code `malformedXML` when it is not an envelope of SOAP 1.1 or 1.2 with one body and at most one header, and
    ///   `tooLarge` when it has more than a million declarations of namespaces for its elements.
    public init(_ document: XMLElement) throws {
        let declared = document.declaredNamespaces
        let namespace = document.namespace(within: declared)
        guard let version = Version.allCases.first(where: { $0.namespace == namespace }), document.localName == "Envelope" else {
            throw APIError(.malformedXML, "the document is not a SOAP envelope; check the URL and the version")
        }
        let own = document.elements.filter { $0.namespace(within: declared) == namespace }
        let (bodies, headers) = (own.filter { $0.localName == "Body" }, own.filter { $0.localName == "Header" })
        guard bodies.count == 1 else { throw APIError(.malformedXML, "the SOAP envelope does not have exactly one body") }
        guard headers.count <= 1 else { throw APIError(.malformedXML, "the SOAP envelope has several headers") }
        self.init(
            version: version, headers: try headers.flatMap { try $0.detachedElements(within: document, version) },
            body: try bodies[0].detachedElements(within: document, version))
    }

    /// The fault that a server reports in place of a result; nil if there is none.
    ///
    /// Its elements are `faultcode` and `faultstring` in SOAP 1.1, `Code` and `Reason` in SOAP 1.2.
    public var fault: XMLElement? {
        // `serialize()` declares the prefix `soap`.
        let declared = ["xmlns:soap": version.namespace]
        return body.first { $0.localName == "Fault" && $0.namespace(within: declared) == version.namespace }
    }

    /// Makes the content.
    ///
    /// - Returns: The content with its type, and in SOAP 1.1 with the header SOAPAction.
    /// - Throws: ``APIError`` with code `invalidHeader` when the action has other characters, and `invalidBody` when the document cannot be
    ///   written.
    public func serialize() throws -> SerializedBody {
        if let action, !action.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            throw APIError(.invalidHeader, "the SOAP action has a character that a URI cannot have; percent-encode it")
        }
        var envelope = XMLElement("soap:Envelope", attributes: [.init("xmlns:soap", version.namespace)])
        if !headers.isEmpty { envelope.children.append(.element(XMLElement("soap:Header", children: headers.map { .element($0) }))) }
        envelope.children.append(.element(XMLElement("soap:Body", children: body.map { .element($0) })))
        let bytes = try envelope.document()
        switch version {
        case .v1_1:
            // The header is required; two quotation marks alone say nothing about the intent (SOAP 1.1, section 6.1.1).
            return SerializedBody(
                contentType: "text/xml; charset=utf-8", headers: ["SOAPAction": "\"\(action ?? "")\""], body: .bytes(bytes))
        case .v1_2:
            let parameter = action.map { "; action=\"\($0)\"" } ?? ""
            return SerializedBody(contentType: "application/soap+xml; charset=utf-8" + parameter, body: .bytes(bytes))
        }
    }
}

extension XMLElement {
    /// The child elements, each with the namespace declarations of the elements around it: their prefixes mean nothing without those.
    ///
    /// - Parameters:
    ///   - parent: The element around this one.
    ///   - version: The version; `serialize()` declares the prefix `soap` for its namespace.
    /// - Returns: The elements.
    /// - Throws: ``APIError`` with code `tooLarge` when they would have more than ``maximumNodes`` declarations.
    fileprivate func detachedElements(within parent: XMLElement, _ version: SOAPEnvelope.Version) throws -> [XMLElement] {
        var names: Set<String> = []
        var declarations: [Attribute] = []
        // The inner declaration of a prefix counts.
        for attribute in attributes + parent.attributes where attribute.name == "xmlns" || attribute.name.hasPrefix("xmlns:") {
            if names.insert(attribute.name).inserted { declarations.append(attribute) }
        }
        declarations.removeAll { $0.name == "xmlns:soap" && $0.value == version.namespace }
        let elements = elements
        guard !declarations.isEmpty else { return elements }
        guard declarations.count <= Self.maximumNodes / max(elements.count, 1) else {
            throw APIError(.tooLarge, "the SOAP message has too many namespace declarations for its number of elements")
        }
        return elements.map { element in
            var element = element
            let own = Set(element.attributes.map(\.name))
            element.attributes += declarations.filter { !own.contains($0.name) }
            return element
        }
    }

    /// The namespaces that the element declares, by the names of the attributes.
    ///
    /// A large element is searched only once.
    fileprivate var declaredNamespaces: [String: String] {
        let declarations = attributes.filter { $0.name == "xmlns" || $0.name.hasPrefix("xmlns:") }
        return Dictionary(declarations.map { ($0.name, $0.value) }) { first, _ in first }
    }

    /// The namespace of the element's name: that of the nearest declaration on it or on the element around it.
    ///
    /// - Parameter declared: The namespaces that the element around it declares.
    /// - Returns: The namespace; nil if the prefix is not declared.
    fileprivate func namespace(within declared: [String: String]) -> String? {
        let declaration = name.contains(":") ? "xmlns:" + name.prefix { $0 != ":" } : "xmlns"
        return self[attribute: declaration] ?? declared[declaration]
    }
}
