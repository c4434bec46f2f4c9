package import ApproovBase
package import Attestation
import Foundation
package import HTTPClient
import HTTPTypes

/// An authority of a few lines that does as the test says, for a transport without a network.
///
/// ``TestAuthority`` is a real one.
package final class SmallAuthority: Sendable {
    /// What the test wants of the next requests.
    package struct Script: Sendable {
        package var lifetime = 300
        package var rejectionReasons: [String]?
        /// The secure strings of the account; nil for an app that is not genuine.
        package var secureStrings: [String: String]? = [:]
        /// The account's message-signing key; nil if it has none.
        package var messageSigningKey: MessageSigningKey?
        package var configurations: [SignedConfiguration] = []
        package var offersNextChallenge = true
        /// Answers in place of the authority; nil: it answers itself.
        package var fault: (@Sendable (TransportRequest) async throws -> TransportResponse?)?
    }

    /// What the authority received.
    package struct Seen: Sendable {
        package var challenges = 0
        package var attestations: [Evidence] = []
        package var configurationRequests = 0
    }

    package let script = Shared(Script())
    package let seen = Shared(Seen())
    private let number = Shared(0)

    package init() {}

    /// Answers a request that an app sent to its authority.
    package func respond(to request: TransportRequest) async throws -> TransportResponse {
        if let response = try await script.value.fault?(request) { return response }
        switch (request.method, request.url.target.split(separator: "?").first) {
        case (.post, "/v1/challenges"):
            seen.change { $0.challenges += 1 }
            return .json(challenge().json, to: request)
        case (.post, "/v1/attestations"):
            guard case .bytes(let bytes) = request.body else { return .problem(.evidenceMalformed, 400, to: request) }
            let beside =
                request.headerFields[.contentType] == AttestationRequest.mediaType
                ? try AttestationRequest(json: JSONValue(reading: bytes, limit: AttestationRequest.maximumBytes)) : nil
            let evidence = try VerifiedEvidence(verifying: beside.map { Array($0.evidence.utf8) } ?? bytes).evidence
            guard evidence.customClaimsHash == beside?.customClaims.map(CustomClaims.hash(of:)) else {
                return .problem(.evidenceMalformed, 400, to: request)
            }
            seen.change { $0.attestations.append(evidence) }
            let script = script.value
            let result = AttestationResult(
                token: token(for: evidence, lifetime: script.lifetime), expiresIn: script.lifetime, arc: "IXPSB7TRK26LXE3M",
                rejectionReasons: script.rejectionReasons, traceID: "trace-\(nextNumber())",
                configurations: script.configurations,
                challenge: script.offersNextChallenge ? challenge(expiresIn: script.lifetime + 60) : nil,
                secureStrings: script.rejectionReasons == nil ? script.secureStrings : nil, messageSigningKey: script.messageSigningKey,
                customToken: script.rejectionReasons == nil && script.secureStrings != nil
                    ? beside?.customClaims.map { "custom.\(Base64URL.encode($0)).signature" } : nil)
            return .json(result.json, to: request)
        case (.get, "/v1/configuration"):
            seen.change { $0.configurationRequests += 1 }
            let configurations = script.value.configurations
            guard !configurations.isEmpty else { return TransportResponse(status: 304, url: request.url) }
            return .json(.array(configurations.map(\.json)), to: request)
        default:
            return .problem(.notFound, 404, to: request)
        }
    }

    private func challenge(expiresIn: Int = 60) -> Challenge {
        Challenge(value: Base64URL.encode(Array("challenge-\(nextNumber())".utf8)), expiresIn: expiresIn)
    }

    private func nextNumber() -> Int {
        number.change {
            $0 += 1
            return $0
        }
    }

    /// A token of the right shape; it is not verified here.
    private func token(for evidence: Evidence, lifetime: Int) -> String {
        var claims: [String: JSONValue] = ["exp": .integer(Int64(lifetime)), "aud": .string(evidence.host)]
        claims["n"] = .integer(Int64(nextNumber()))
        if let payHash = evidence.payHash { claims["pay"] = .string(payHash) }
        if evidence.limitedUse { claims["jti"] = .string("jti-\(nextNumber())") }
        return ["{\"alg\":\"HS256\"}".utf8.map { $0 }, JSONValue.object(claims).serialized(), Array("signature".utf8)]
            .map { Base64URL.encode($0) }.joined(separator: ".")
    }
}

extension TransportResponse {
    package static func json(_ json: JSONValue, status: Int = 200, to request: TransportRequest) -> TransportResponse {
        .bytes(json.serialized(), type: "application/json", status: status, to: request)
    }

    package static func problem(_ name: Problem.Name, _ status: Int, to request: TransportRequest) -> TransportResponse {
        .bytes(Problem(name, title: "no", status: status).details.serialized(), type: Problem.mediaType, status: status, to: request)
    }

    package static func bytes(_ bytes: [UInt8], type: String, status: Int = 200, to request: TransportRequest) -> TransportResponse {
        TransportResponse(
            status: status, headerFields: [.contentType: type], url: request.url, body: ResponseBody(bytes: bytes))
    }
}

/// The `pay` claim of a token that ``SmallAuthority`` made.
package func pay(ofToken token: String) throws -> String? {
    let parts = token.split(separator: ".")
    guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])) else { return nil }
    return try JSONValue(reading: payload, limit: 8_192).optionalString("pay")
}
