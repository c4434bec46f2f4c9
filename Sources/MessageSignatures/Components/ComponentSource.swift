/// What a component's value is taken from.
enum ComponentSource: Sendable {
    case method, targetURI, authority, scheme, requestTarget, path, query, queryParameter, status
    case field

    /// Recognises a name; nil for one that is neither a derived component nor a field name in lower case.
    init?(name: String) {
        guard name.utf8.first == UInt8(ascii: "@") else {
            guard Self.isFieldName(name) else { return nil }
            self = .field
            return
        }
        switch name {
        case "@method": self = .method
        case "@target-uri": self = .targetURI
        case "@authority": self = .authority
        case "@scheme": self = .scheme
        case "@request-target": self = .requestTarget
        case "@path": self = .path
        case "@query": self = .query
        case "@query-param": self = .queryParameter
        case "@status": self = .status
        // `@signature-params` covers itself already (RFC 9421, section 2.3).
        default: return nil
        }
    }

    /// Whether the parameters fit this source and each other (RFC 9421, sections 2.1, 2.2 and 2.4).
    func allows(_ parameters: [SignatureComponent.Parameter]) -> Bool {
        var kinds: Set<Kind> = []
        for parameter in parameters {
            guard let kind = Kind(parameter), kinds.insert(kind).inserted else { return false }
        }
        switch self {
        case .field: return !kinds.contains(.name) && !(kinds.contains(.bytes) && !kinds.isDisjoint(with: [.structured, .key]))
        case .queryParameter: return kinds.contains(.name) && kinds.isSubset(of: [.name, .request])
        case .status: return kinds.isEmpty
        default: return kinds.isSubset(of: [.request])
        }
    }

    private enum Kind {
        case structured, key, bytes, request, trailer, name

        /// Nil when the parameter's text cannot be written.
        init?(_ parameter: SignatureComponent.Parameter) {
            switch parameter {
            case .structured: self = .structured
            case .bytes: self = .bytes
            case .request: self = .request
            case .trailer: self = .trailer
            case .key(let key):
                guard ComponentSource.isKey(key) else { return nil }
                self = .key
            case .name(let name):
                guard name.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
                self = .name
            }
        }
    }

    /// A token (RFC 9110, section 5.6.2) without upper-case letters.
    private static func isFieldName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
                default: false
                }
            }
    }

    /// A key of a structured field (RFC 9651, section 3.1.2).
    private static func isKey(_ key: String) -> Bool {
        guard let first = key.utf8.first, StructuredFieldReader.beginsKey(first) else { return false }
        return key.utf8.allSatisfy(StructuredFieldReader.continuesKey)
    }
}
