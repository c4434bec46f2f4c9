package import ApproovBase

/// What the authority answers to evidence that it could judge.
///
/// It does not say whether the token will verify.
package struct AttestationResult: Sendable, Hashable {
    /// The token, a JWT.
    package let token: String
    /// How long the token is good for, in seconds from its arrival.
    package let expiresIn: Int
    /// The attestation response code, base32: it tells the account's support why, and nobody else.
    package let arc: String
    /// Why the attestation failed, when the account's policy lets the app know.
    package let rejectionReasons: [String]?
    /// Names this attestation in the authority's log.
    package let traceID: String
    /// Configurations newer than the one the evidence named: key-changing versions, then the newest, in order.
    package let configurations: [SignedConfiguration]
    /// The challenge for the next attestation, which spares a round trip.
    package let challenge: Challenge?

    /// A result.
    package init(
        token: String, expiresIn: Int, arc: String, rejectionReasons: [String]? = nil, traceID: String,
        configurations: [SignedConfiguration] = [], challenge: Challenge? = nil
    ) {
        self.token = token
        self.expiresIn = expiresIn
        self.arc = arc
        self.rejectionReasons = rejectionReasons
        self.traceID = traceID
        self.configurations = configurations
        self.challenge = challenge
    }

    /// Reads the members; unknown ones are ignored.
    ///
    /// - Throws: `AttestationError` naming the member that is missing or malformed. A token is 1 to 8,192 characters of base64url and
    ///   dots, so that it can be put into a header as it is.
    package init(json: JSONValue) throws(AttestationError) {
        token = try json.string("token")
        guard (1...8_192).contains(token.utf8.count), token.utf8.allSatisfy(AttestationResult.isTokenByte) else {
            throw AttestationError(.malformedMember, "must be 1 to 8,192 characters of base64url and dots", member: "token")
        }
        expiresIn = Int(try json.integer("expiresIn", in: 1...31_536_000))
        arc = try AttestationResult.label(json, "arc")
        rejectionReasons = try json.optionalStrings("rejectionReasons")
        traceID = try AttestationResult.label(json, "traceID")
        configurations =
            try json.optionalElements("configurations") { (element) throws(AttestationError) in
                try SignedConfiguration(json: element)
            } ?? []
        challenge = try json.optionalMember("challenge").map { (member) throws(AttestationError) in
            try within("challenge") { () throws(AttestationError) in try Challenge(json: member) }
        }
    }

    /// All members that have a value.
    package var json: JSONValue {
        jsonObject([
            "token": .string(token), "expiresIn": .integer(Int64(expiresIn)), "arc": .string(arc),
            "rejectionReasons": rejectionReasons.map(JSONValue.strings), "traceID": .string(traceID),
            "configurations": configurations.isEmpty ? nil : .array(configurations.map(\.json)), "challenge": challenge?.json,
        ])
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// A short text of visible ASCII: it goes into headers and logs.
    private static func label(_ json: JSONValue, _ name: String) throws(AttestationError) -> String {
        let text = try json.string(name)
        guard text.utf8.count <= 256, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw AttestationError(.malformedMember, "must be at most 256 visible ASCII characters", member: name)
        }
        return text
    }
}
