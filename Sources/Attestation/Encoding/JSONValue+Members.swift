package import ApproovBase

/// Typed access to members.
///
/// Every accessor throws `AttestationError.malformedMember` that names the member and never its value.
extension JSONValue {
    /// Reads one JSON array or object, strictly, like `init(parsing:limit:)`.
    ///
    /// - Throws: `AttestationError.malformedJSON` or `.tooLarge`.
    init(reading bytes: [UInt8], limit: Int) throws(AttestationError) {
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

    /// The value of an integer within `range`; `7.0` is not one.
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

    /// The member of that name, or nil when there is none or it is `null`.
    package func optionalMember(_ name: String) throws(AttestationError) -> JSONValue? {
        let value = try object()[name]
        return value == .null ? nil : value
    }

    /// The member of that name.
    package func member(_ name: String) throws(AttestationError) -> JSONValue {
        guard let value = try object()[name] else {
            throw AttestationError(.malformedMember, "is missing", member: LoggableText.name(name))
        }
        return value
    }

    /// The string member of that name.
    package func string(_ name: String) throws(AttestationError) -> String {
        let value = try member(name)
        return try within(LoggableText.name(name)) { () throws(AttestationError) in try value.string() }
    }

    /// The string member of that name, or nil when there is none.
    package func optionalString(_ name: String) throws(AttestationError) -> String? {
        guard let value = try optionalMember(name) else { return nil }
        return try within(LoggableText.name(name)) { () throws(AttestationError) in try value.string() }
    }

    /// The integer member of that name, within `range`.
    package func integer(_ name: String, in range: ClosedRange<Int64> = .min ... .max) throws(AttestationError) -> Int64 {
        let value = try member(name)
        return try within(LoggableText.name(name)) { () throws(AttestationError) in try value.integer(in: range) }
    }

    /// The integer member of that name, within `range`, or nil when there is none.
    package func optionalInteger(_ name: String, in range: ClosedRange<Int64> = .min ... .max) throws(AttestationError) -> Int64? {
        guard let value = try optionalMember(name) else { return nil }
        return try within(LoggableText.name(name)) { () throws(AttestationError) in try value.integer(in: range) }
    }

    /// The boolean member of that name, or `standard` when there is none.
    package func bool(_ name: String, default standard: Bool) throws(AttestationError) -> Bool {
        guard let value = try optionalMember(name) else { return standard }
        return try within(LoggableText.name(name)) { () throws(AttestationError) in try value.bool() }
    }

    /// What `read` makes of every element of the array of that name, or nil when there is none.
    package func optionalElements<Element>(
        _ name: String, _ read: (JSONValue) throws(AttestationError) -> Element
    ) throws(AttestationError) -> [Element]? {
        guard let value = try optionalMember(name) else { return nil }
        return try within(LoggableText.name(name)) { () throws(AttestationError) in
            var elements: [Element] = []
            for (index, element) in try value.array().enumerated() {
                elements.append(try within("[\(index)]") { () throws(AttestationError) in try read(element) })
            }
            return elements
        }
    }

    /// What `read` makes of every element of the array of that name.
    package func elements<Element>(
        _ name: String, _ read: (JSONValue) throws(AttestationError) -> Element
    ) throws(AttestationError) -> [Element] {
        guard let elements = try optionalElements(name, read) else {
            throw AttestationError(.malformedMember, "is missing", member: LoggableText.name(name))
        }
        return elements
    }

    /// The array of strings of that name, or nil when there is none.
    package func optionalStrings(_ name: String) throws(AttestationError) -> [String]? {
        try optionalElements(name) { (element) throws(AttestationError) in try element.string() }
    }

    /// The array of strings of that name.
    package func strings(_ name: String) throws(AttestationError) -> [String] {
        try elements(name) { (element) throws(AttestationError) in try element.string() }
    }

    /// Refuses members that are not in `names`.
    func requireOnly(_ names: Set<String>) throws(AttestationError) {
        for name in try object().keys where !names.contains(name) {
            throw AttestationError(.malformedMember, "is not allowed here", member: LoggableText.name(name))
        }
    }
}

/// Builds an object and leaves out what is nil.
func jsonObject(_ members: [String: JSONValue?]) -> JSONValue {
    .object(members.compactMapValues { $0 })
}

extension JSONValue {
    /// An array of strings.
    static func strings(_ values: [String]) -> JSONValue {
        .array(values.map { .string($0) })
    }
}

/// The range of counters and moments: above zero, and exact in every JSON implementation (RFC 8259 section 6).
let positiveSafeIntegers: ClosedRange<Int64> = 1...(1 << 53 - 1)
