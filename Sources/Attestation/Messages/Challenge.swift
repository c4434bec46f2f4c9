package import ApproovBase

/// A challenge of the authority (RFC 9334, section 10.2), which proves that evidence containing it is not older than the challenge.
package struct Challenge: Sendable, Hashable {
    /// The most characters of a challenge that an app accepts.
    private static let maximumBytes = 1_024
    /// The longest life of a challenge that an app accepts, in seconds: a year.
    private static let longestLife: Int64 = 31_536_000

    /// Opaque base64url text that the evidence must contain.
    package let value: String
    /// How long the challenge is valid, in seconds from its arrival.
    package let expiresIn: Int

    /// Makes a challenge that is valid for `expiresIn` seconds.
    package init(value: String, expiresIn: Int) {
        self.value = value
        self.expiresIn = expiresIn
    }

    /// Reads `challenge` and `expiresIn`.
    ///
    /// - Parameter json: A JSON object.
    /// - Throws: ``AttestationError`` with code `malformedMember` when the challenge is not 1 to 1,024 characters of base64url, or the time
    ///   is not between one second and one year.
    package init(json: JSONValue) throws(AttestationError) {
        value = try json.string("challenge")
        guard (1...Self.maximumBytes).contains(value.utf8.count), Base64URL.decode(value) != nil else {
            throw AttestationError(.malformedMember, "must be 1 to 1,024 characters of base64url", member: "challenge")
        }
        expiresIn = Int(try json.integer("expiresIn", in: 1...Self.longestLife))
    }

    /// An object with `challenge` and `expiresIn`.
    package var json: JSONValue { .object(["challenge": .string(value), "expiresIn": .integer(Int64(expiresIn))]) }
}
