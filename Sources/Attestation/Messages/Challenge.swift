package import ApproovBase

/// A challenge of the authority (RFC 9334 section 10.2): evidence that answers it was made after it was.
package struct Challenge: Sendable, Hashable {
    /// Opaque text, base64url, to be sent back inside the evidence.
    package let value: String
    /// How long it is good for, in seconds from its arrival.
    package let expiresIn: Int

    /// A challenge that is good for `expiresIn` seconds.
    package init(value: String, expiresIn: Int) {
        self.value = value
        self.expiresIn = expiresIn
    }

    /// Reads `challenge` and `expiresIn`.
    ///
    /// - Throws: `AttestationError.malformedMember` when the challenge is not 1 to 1,024 characters of base64url or the time is not
    ///   between a second and a year.
    package init(json: JSONValue) throws(AttestationError) {
        value = try json.string("challenge")
        guard (1...1_024).contains(value.utf8.count), Base64URL.decode(value) != nil else {
            throw AttestationError(.malformedMember, "must be 1 to 1,024 characters of base64url", member: "challenge")
        }
        expiresIn = Int(try json.integer("expiresIn", in: 1...31_536_000))
    }

    /// `challenge` and `expiresIn`.
    package var json: JSONValue { .object(["challenge": .string(value), "expiresIn": .integer(Int64(expiresIn))]) }
}
