package import ApproovBase
public import Crypto

/// Claims of an attester about itself (RFC 9334, section 8.1).
///
/// The authority believes only that the key in them signed them, and judges the rest.
public struct Evidence: Sendable, Hashable {
    /// The `typ` of the JWS.
    public static let type = "approov-evidence+jws"
    /// The media type of the request body that carries evidence.
    public static let mediaType = "application/jose"
    /// The most bytes of signed evidence.
    public static let maximumBytes = 16 * 1024
    /// The most flags of the environment.
    private static let maximumFlags = 32
    /// The most bytes of a flag.
    private static let maximumFlagBytes = 64
    /// The most measurements.
    private static let maximumMeasurements = 32

    /// The authority's challenge.
    public var challenge: String
    /// The authority's URL.
    public var aud: String
    /// When the evidence was made by the app's clock, in seconds since 1970; for information only.
    public var iat: Int64
    /// The account's name.
    public var account: String
    /// The installation's device ID.
    public var deviceID: DeviceID
    /// The host that the token is for.
    public var host: String
    /// The `pay` claim of the requested token; nil if the token is not bound.
    public var payHash: String?
    /// The version of this package.
    public var sdkVersion: String
    /// The app's name for itself.
    public var appID: String
    /// The app's version.
    public var appVersion: String
    /// The measurements by name, each the padded base64 of a SHA-256; `executable` is the running executable.
    public var measurements: [String: String]
    /// The flags that the process observed: `debugger`, `ld-preload` (also for LD_AUDIT), `root`.
    ///
    /// `debugger-unknown` and `ld-preload-unknown` mean that the process could not check.
    public var environment: [String]
    /// The version of the configuration in force.
    public var configVersion: Int64
    /// The base64url of the SHA-256 of the payload of the configuration in force; nil from older releases.
    ///
    /// With it the authority notices that it was restored from a backup and has another configuration under the same version.
    public var configHash: String?
    /// Whether the token is a limited-use token: it then has a `jti` and a short life.
    public var limitedUse: Bool
    /// The proof of the account's development key, base64url of 32 bytes; nil for none.
    ///
    /// An attester sets it to ``EvidenceRequest/developmentProof(of:)``. The authority rejects evidence whose proof is wrong.
    public var developmentKey: String?
    /// The base64url of the SHA-256 of the custom claims that travel beside the evidence; nil if no custom JWT is requested.
    public var customClaimsHash: String?

    /// The name of the running executable's measurement.
    public static let executableMeasurement = "executable"

    /// Makes evidence for a request, without a proof of its development key.
    ///
    /// - Parameters:
    ///   - request: The request to answer.
    ///   - iat: The time by the app's clock, in seconds since 1970.
    ///   - deviceID: The installation's device ID.
    ///   - appID: The app's name for itself.
    ///   - appVersion: The app's version.
    ///   - measurements: The measurements by name, each the padded base64 of a SHA-256.
    ///   - environment: The flags that the process observed.
    public init(
        answering request: EvidenceRequest, iat: Int64, deviceID: DeviceID, appID: String, appVersion: String,
        measurements: [String: String], environment: [String]
    ) {
        challenge = request.challenge
        aud = request.audience
        account = request.account
        host = request.host
        payHash = request.payHash
        sdkVersion = request.sdkVersion
        configVersion = request.configVersion
        configHash = request.configHash
        limitedUse = request.limitedUse
        customClaimsHash = request.customClaimsHash
        self.iat = iat
        self.deviceID = deviceID
        self.appID = appID
        self.appVersion = appVersion
        self.measurements = measurements
        self.environment = environment
    }

    /// Reads the payload; ignores unknown members.
    ///
    /// - Parameter json: A JSON object.
    /// - Throws: ``AttestationError`` naming the member that is missing or malformed.
    package init(json: JSONValue) throws(AttestationError) {
        challenge = try json.string("challenge")
        aud = try json.string("aud")
        iat = try json.integer("iat", in: positiveSafeIntegers)
        account = try json.string("account")
        let device = try json.string("deviceID")
        deviceID = try inMember("deviceID") { () throws(AttestationError) in try DeviceID(base64: device) }
        host = try json.string("host")
        payHash = try json.optionalString("payHash")
        if let payHash, Base64.decode(payHash)?.count != 32 {
            throw AttestationError(.malformedMember, "must be the padded base64 of 32 bytes", member: "payHash")
        }
        let sdk = try json.member("sdk")
        sdkVersion = try inMember("sdk") { () throws(AttestationError) in try sdk.string("version") }
        let app = try json.member("app")
        appID = try inMember("app") { () throws(AttestationError) in try app.string("id") }
        appVersion = try inMember("app") { () throws(AttestationError) in try app.string("version") }
        measurements = try Evidence.measurements(try json.member("measurements"))
        environment = try json.strings("environment")
        guard environment.count <= Self.maximumFlags, environment.allSatisfy({ $0.utf8.count <= Self.maximumFlagBytes }) else {
            throw AttestationError(.malformedMember, "must be at most 32 flags of at most 64 bytes", member: "environment")
        }
        configVersion = try json.integer("configVersion", in: 0...positiveSafeIntegers.upperBound)
        configHash = try Evidence.optionalHash(json, "configHash")
        limitedUse = try json.bool("limitedUse", default: false)
        // Any text: the authority judges it, so that its operator learns why a build with a wrong key does not pass.
        developmentKey = try json.optionalString("developmentKey")
        customClaimsHash = try Evidence.optionalHash(json, "customClaimsHash")
    }

    private static func optionalHash(_ json: JSONValue, _ member: String) throws(AttestationError) -> String? {
        guard let text = try json.optionalString(member) else { return nil }
        guard Base64URL.decode(text)?.count == 32 else {
            throw AttestationError(.malformedMember, "must be the base64url of 32 bytes", member: member)
        }
        return text
    }

    private static func measurements(_ json: JSONValue) throws(AttestationError) -> [String: String] {
        try inMember("measurements") { () throws(AttestationError) in
            let entries = try json.object()
            guard entries.count <= Self.maximumMeasurements else {
                throw AttestationError(.malformedMember, "must have at most 32 members")
            }
            var measurements: [String: String] = [:]
            for (name, value) in entries {
                guard case .string(let text) = value, Base64.decode(text)?.count == 32 else {
                    throw AttestationError(.malformedMember, "must be the padded base64 of 32 bytes", member: LoggableText.name(name))
                }
                measurements[name] = text
            }
            return measurements
        }
    }

    /// All members that have a value, as a JSON object.
    package var json: JSONValue {
        jsonObject([
            "challenge": .string(challenge), "aud": .string(aud), "iat": .integer(iat), "account": .string(account),
            "deviceID": .string(deviceID.base64), "host": .string(host), "payHash": payHash.map(JSONValue.string),
            "sdk": .object(["version": .string(sdkVersion)]), "app": .object(["id": .string(appID), "version": .string(appVersion)]),
            "measurements": .object(measurements.mapValues(JSONValue.string)), "environment": .strings(environment),
            "configVersion": .integer(configVersion), "configHash": configHash.map(JSONValue.string),
            "limitedUse": limitedUse ? .bool(true) : nil,
            "developmentKey": developmentKey.map(JSONValue.string), "customClaimsHash": customClaimsHash.map(JSONValue.string),
        ])
    }

    /// Signs the evidence with ES256.
    ///
    /// - Parameter key: The installation key.
    /// - Returns: A compact JWS (RFC 7515, section 7.1) whose header contains the installation's public key.
    /// - Throws: ``AttestationError`` with code `malformedKey` when the key cannot sign; with code `tooLarge` when the result exceeds
    ///   ``maximumBytes``.
    public func signed(by key: P256.Signing.PrivateKey) throws(AttestationError) -> String {
        let header = JSONValue.object(["alg": "ES256", "jwk": PublicJWK(key.publicKey).json, "typ": .string(Evidence.type)])
        let text = try CompactJWS.signed(header: header, payload: json, by: key)
        guard text.utf8.count <= Evidence.maximumBytes else {
            throw AttestationError(
                .tooLarge, "the evidence would have more than \(Evidence.maximumBytes) bytes; shorten the app's ID or version")
        }
        return text
    }
}
