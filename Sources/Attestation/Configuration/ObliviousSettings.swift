package import ApproovBase
import Foundation

/// The relay and gateway for requests to oblivious hosts.
public struct ObliviousSettings: Sendable, Hashable {
    /// The relay's URL.
    public var relay: String
    /// Base64 of the gateway's key configurations, `application/ohttp-keys` (RFC 9458, section 3.2).
    public var keyConfig: String
    /// Whether the gateway accepts chunked messages (draft-ietf-ohai-chunked-ohttp); nil means that clients find out.
    public var chunked: Bool?

    /// Makes the settings for oblivious hosts.
    ///
    /// - Parameters:
    ///   - relay: The relay's URL.
    ///   - keyConfig: Base64 of the gateway's key configurations.
    ///   - chunked: Whether the gateway accepts chunked messages; nil if unknown.
    public init(relay: String, keyConfig: String, chunked: Bool? = nil) {
        self.relay = relay
        self.keyConfig = keyConfig
        self.chunked = chunked
    }

    /// Reads `relay`, `keyConfig` and `chunked`.
    ///
    /// - Parameter json: A JSON object.
    /// - Throws: ``AttestationError`` with code `malformedMember` when the relay is not an https URL, the keys are not base64, or a member
    ///   is missing or of the wrong type.
    package init(json: JSONValue) throws(AttestationError) {
        relay = try json.string("relay")
        keyConfig = try json.string("keyConfig")
        chunked = try json.optionalMember("chunked").map { (member) throws(AttestationError) in
            try inMember("chunked") { () throws(AttestationError) in try member.bool() }
        }
        guard let url = URL(string: relay), url.scheme?.lowercased() == "https", url.host()?.isEmpty == false else {
            throw AttestationError(.malformedMember, "must be an https URL", member: "relay")
        }
        guard let keys = Base64.decode(keyConfig), !keys.isEmpty else {
            throw AttestationError(.malformedMember, "must be the base64 of application/ohttp-keys", member: "keyConfig")
        }
    }

    /// An object with `relay`, `keyConfig` and, if known, `chunked`.
    package var json: JSONValue {
        var members: [String: JSONValue] = ["relay": .string(relay), "keyConfig": .string(keyConfig)]
        members["chunked"] = chunked.map(JSONValue.bool)
        return .object(members)
    }
}
