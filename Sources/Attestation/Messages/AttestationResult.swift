package import ApproovBase

/// The authority's answer to evidence that it could judge.
///
/// Its token and its code do not reveal whether the token will verify. Secure strings come with genuine evidence only, so their absence
/// does.
package struct AttestationResult: Sendable, Hashable {
    /// The longest token that an app accepts, in characters; it must fit into a header.
    private static let maximumTokenBytes = 8_192
    /// The longest ARC or trace ID that an app accepts, in characters.
    private static let maximumLabelBytes = 256

    /// The token, a JWT.
    package let token: String
    /// How long the token is valid, in seconds from its arrival.
    package let expiresIn: Int
    /// The attestation response code in base32, from which only the account's operator can tell why an attestation failed.
    package let arc: String
    /// Why the attestation failed; nil unless the account's policy tells the app.
    package let rejectionReasons: [String]?
    /// Identifies this attestation in the authority's log.
    package let traceID: String
    /// The configurations newer than the one named in the evidence: versions that change keys, then the newest, in order.
    package let configurations: [SignedConfiguration]
    /// The challenge for the next attestation, which saves a round trip.
    package let challenge: Challenge?
    /// The account's predefined secure strings by key.
    ///
    /// Always present after genuine evidence, possibly empty, and always empty for oblivious hosts; nil otherwise.
    package let secureStrings: [String: String]?
    /// The account's message-signing key; nil if the account has none, and for oblivious hosts.
    ///
    /// After rejected evidence it is a decoy: random, with the key's identifier and form.
    package let messageSigningKey: MessageSigningKey?
    /// The custom JWT; nil unless it was requested and the evidence is genuine.
    package let customToken: String?

    /// Makes a result.
    package init(
        token: String, expiresIn: Int, arc: String, rejectionReasons: [String]? = nil, traceID: String,
        configurations: [SignedConfiguration] = [], challenge: Challenge? = nil, secureStrings: [String: String]? = nil,
        messageSigningKey: MessageSigningKey? = nil, customToken: String? = nil
    ) {
        self.token = token
        self.expiresIn = expiresIn
        self.arc = arc
        self.rejectionReasons = rejectionReasons
        self.traceID = traceID
        self.configurations = configurations
        self.challenge = challenge
        self.secureStrings = secureStrings
        self.messageSigningKey = messageSigningKey
        self.customToken = customToken
    }

    /// Reads the members; ignores unknown ones.
    ///
    /// - Parameter json: A JSON object. Its tokens must be 1 to 8,192 characters of base64url and dots, so that they fit into a header as
    ///   they are.
    /// - Throws: ``AttestationError`` naming the member that is missing or malformed.
    package init(json: JSONValue) throws(AttestationError) {
        token = try AttestationResult.token(json.string("token"), "token")
        expiresIn = Int(try json.integer("expiresIn", in: 1...31_536_000))
        arc = try AttestationResult.label(json, "arc")
        rejectionReasons = try json.optionalStrings("rejectionReasons")
        traceID = try AttestationResult.label(json, "traceID")
        configurations =
            try json.optionalElements("configurations") { (element) throws(AttestationError) in
                try SignedConfiguration(json: element)
            } ?? []
        challenge = try json.optionalMember("challenge").map { (member) throws(AttestationError) in
            try inMember("challenge") { () throws(AttestationError) in try Challenge(json: member) }
        }
        secureStrings = try json.optionalMember("secureStrings").map { (member) throws(AttestationError) in
            try inMember("secureStrings") { () throws(AttestationError) in try SecureStringRules.strings(member) }
        }
        messageSigningKey = try json.optionalMember("messageSigningKey").map { (member) throws(AttestationError) in
            try inMember("messageSigningKey") { () throws(AttestationError) in try MessageSigningKey(json: member) }
        }
        customToken = try json.optionalString("customToken").map { (text) throws(AttestationError) in
            try AttestationResult.token(text, "customToken")
        }
    }

    /// All members that have a value, as a JSON object.
    package var json: JSONValue {
        jsonObject([
            "token": .string(token), "expiresIn": .integer(Int64(expiresIn)), "arc": .string(arc),
            "rejectionReasons": rejectionReasons.map(JSONValue.strings), "traceID": .string(traceID),
            "configurations": configurations.isEmpty ? nil : .array(configurations.map(\.json)), "challenge": challenge?.json,
            "secureStrings": secureStrings.map { .object($0.mapValues(JSONValue.string)) }, "messageSigningKey": messageSigningKey?.json,
            "customToken": customToken.map(JSONValue.string),
        ])
    }

    /// Checks that a text fits into a header as a token.
    private static func token(_ text: String, _ name: String) throws(AttestationError) -> String {
        guard (1...maximumTokenBytes).contains(text.utf8.count), text.utf8.allSatisfy(isTokenByte) else {
            throw AttestationError(.malformedMember, "must be 1 to 8,192 characters of base64url and dots", member: name)
        }
        return text
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Reads a short text of visible ASCII characters, because it goes into headers and logs.
    private static func label(_ json: JSONValue, _ name: String) throws(AttestationError) -> String {
        let text = try json.string(name)
        guard text.utf8.count <= maximumLabelBytes, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw AttestationError(.malformedMember, "must be at most 256 visible ASCII characters", member: name)
        }
        return text
    }
}

extension AttestationResult: CustomStringConvertible, CustomReflectable {
    /// The trace ID and the code, no token and no secret.
    package var description: String { "AttestationResult(trace: \(traceID), arc: \(arc))" }

    /// An empty mirror, so that `dump` shows no token and no secret.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
