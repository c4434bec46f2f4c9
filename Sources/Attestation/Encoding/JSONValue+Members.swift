package import ApproovBase

/// Typed access to JSON values and members.
///
/// On any mismatch an accessor throws ``AttestationError`` with code `malformedMember`, which names the member and never its value.
extension JSONValue {
    /// Parses one JSON array or object as strictly as `init(parsing:limit:)`.
    ///
    /// - Parameters:
    ///   - bytes: The JSON text.
    ///   - limit: The most bytes.
    /// - Throws: ``AttestationError`` with code `malformedJSON` or `tooLarge`.
    package init(reading bytes: [UInt8], limit: Int) throws(AttestationError) {
        do {
            self = try JSONValue(parsing: bytes, limit: limit)
        } catch {
            throw AttestationError(error.code == .tooLarge ? .tooLarge : .malformedJSON, error.message)
        }
    }

    /// The members of an object.
    package func object() throws(AttestationError) -> [String: JSONValue] {
        guard case .object(let members) = self else { throw AttestationError(.malformedMember, "must be an object") }
        return members
    }

    /// The elements of an array.
    package func array() throws(AttestationError) -> [JSONValue] {
        guard case .array(let elements) = self else { throw AttestationError(.malformedMember, "must be an array") }
        return elements
    }

    /// The text of a string.
    package func string() throws(AttestationError) -> String {
        guard case .string(let text) = self else { throw AttestationError(.malformedMember, "must be a string") }
        return text
    }

    /// The value of an integer within `range`; `7.0` does not count as an integer.
    package func integer(in range: ClosedRange<Int64> = .min ... .max) throws(AttestationError) -> Int64 {
        guard case .integer(let value) = self else { throw AttestationError(.malformedMember, "must be an integer") }
        guard range.contains(value) else {
            throw AttestationError(.malformedMember, "must be between \(range.lowerBound) and \(range.upperBound)")
        }
        return value
    }

    /// The value of a boolean.
    package func bool() throws(AttestationError) -> Bool {
        guard case .bool(let value) = self else { throw AttestationError(.malformedMember, "must be true or false") }
        return value
    }

    /// Returns the member with this name; nil if it is missing or `null`.
    package func optionalMember(_ name: String) throws(AttestationError) -> JSONValue? {
        let value = try object()[name]
        return value == .null ? nil : value
    }

    /// Returns the member with this name.
    package func member(_ name: String) throws(AttestationError) -> JSONValue {
        guard let value = try object()[name] else {
            throw AttestationError(.malformedMember, "is missing", member: LoggableText.name(name))
        }
        return value
    }

    /// Returns the text of the string member with this name.
    package func string(_ name: String) throws(AttestationError) -> String {
        let value = try member(name)
        return try inMember(LoggableText.name(name)) { () throws(AttestationError) in try value.string() }
    }

    /// Returns the text of the string member with this name; nil if it is missing or `null`.
    package func optionalString(_ name: String) throws(AttestationError) -> String? {
        guard let value = try optionalMember(name) else { return nil }
        return try inMember(LoggableText.name(name)) { () throws(AttestationError) in try value.string() }
    }

    /// Returns the integer member with this name, which must be within `range`.
    package func integer(_ name: String, in range: ClosedRange<Int64> = .min ... .max) throws(AttestationError) -> Int64 {
        let value = try member(name)
        return try inMember(LoggableText.name(name)) { () throws(AttestationError) in try value.integer(in: range) }
    }

    /// Returns the integer member with this name, which must be within `range`; nil if it is missing or `null`.
    package func optionalInteger(_ name: String, in range: ClosedRange<Int64> = .min ... .max) throws(AttestationError) -> Int64? {
        guard let value = try optionalMember(name) else { return nil }
        return try inMember(LoggableText.name(name)) { () throws(AttestationError) in try value.integer(in: range) }
    }

    /// Returns the boolean member with this name; `standard` if it is missing or `null`.
    package func bool(_ name: String, default standard: Bool) throws(AttestationError) -> Bool {
        guard let value = try optionalMember(name) else { return standard }
        return try inMember(LoggableText.name(name)) { () throws(AttestationError) in try value.bool() }
    }

    /// Applies `read` to each element of the array with this name; returns nil if it is missing or `null`.
    package func optionalElements<Element>(
        _ name: String, _ read: (JSONValue) throws(AttestationError) -> Element
    ) throws(AttestationError) -> [Element]? {
        guard let value = try optionalMember(name) else { return nil }
        return try inMember(LoggableText.name(name)) { () throws(AttestationError) in
            var elements: [Element] = []
            for (index, element) in try value.array().enumerated() {
                elements.append(try inMember("[\(index)]") { () throws(AttestationError) in try read(element) })
            }
            return elements
        }
    }

    /// Applies `read` to each element of the array with this name.
    package func elements<Element>(
        _ name: String, _ read: (JSONValue) throws(AttestationError) -> Element
    ) throws(AttestationError) -> [Element] {
        guard let elements = try optionalElements(name, read) else {
            throw AttestationError(.malformedMember, "is missing", member: LoggableText.name(name))
        }
        return elements
    }

    /// Returns the array of strings with this name; nil if it is missing or `null`.
    package func optionalStrings(_ name: String) throws(AttestationError) -> [String]? {
        try optionalElements(name) { (element) throws(AttestationError) in try element.string() }
    }

    /// Returns the array of strings with this name.
    package func strings(_ name: String) throws(AttestationError) -> [String] {
        try elements(name) { (element) throws(AttestationError) in try element.string() }
    }

    /// Throws if the object has a member that is not in `names`.
    func requireOnly(_ names: Set<String>) throws(AttestationError) {
        for name in try object().keys where !names.contains(name) {
            throw AttestationError(.malformedMember, "is not allowed here", member: LoggableText.name(name))
        }
    }
}

/// Makes an object from the members that are not nil.
func jsonObject(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
    var object = [String: JSONValue](minimumCapacity: members.count)
    for (name, value) in members { object[name] = value }
    return .object(object)
}

extension JSONValue {
    /// Makes an array of strings.
    static func strings(_ values: [String]) -> JSONValue {
        .array(values.map { .string($0) })
    }
}
