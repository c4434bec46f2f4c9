import ApproovBase
import ApproovAuthority
import Attestation
import CertificatePinning
import HTTPClient
import HTTPTypes
import OHTTP

/// Checks, through the relay as an app would, whether the gateway accepts the published key.
///
/// The encapsulated request is for a name that no host has (RFC 6761, section 6.4), so no gateway forwards it. Any encapsulated answer
/// shows that relay, gateway and key belong together.
struct PublishedKeyCheck {
    /// The result of the check.
    struct Report: Encodable, Equatable {
        enum Outcome: String, Encodable {
            /// The gateway opened the request.
            case accepted
            /// The gateway does not accept the key.
            case keyRefused
            /// No gateway answered through the relay.
            case relayFailed
        }

        let outcome: Outcome
        /// The problem and its remedy; nil when the key is accepted.
        var message: String?
    }

    /// The maximum size of an answer: 64 KiB.
    private static let answerBytes = 64 << 10
    /// How long connecting may take.
    private static let connectTimeout: Duration = .seconds(5)
    /// How long the check may take.
    private static let timeout: Duration = .seconds(10)
    private static let target = HTTPRequest(method: .get, scheme: "https", authority: "approov-check.invalid", path: "/")

    /// The relay and the keys that the configuration gives to apps.
    let settings: ObliviousSettings
    /// The account's settings for the relay's host; nil when it has none.
    let relay: HostSettings?
    /// The pins in force when the relay's settings have none.
    let managedTrustRoots: [String]

    /// Makes the check for an account; nil when the account has no relay.
    init?(_ store: AuthorityStore) throws {
        guard let settings = store.obliviousSettings else { return nil }
        self.settings = settings
        relay = try store.host(for: TransportURL(settings.relay).host.name)?.settings
        managedTrustRoots = store.managedTrustRoots
    }

    /// Runs the check, within ten seconds.
    func run() async throws -> Report {
        let list = try KeyConfigurationList(decoding: Base64.decode(settings.keyConfig) ?? [])
        let key = try list.preferred()
        let request = try key.encapsulate(BinaryHTTPRequest(head: Self.target).encoded(padding: .sizeClasses))
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        let response: TransportResponse
        let body: [UInt8]
        do {
            response = try await transport.send(post([UInt8](request.message)))
            body = try await response.body.collect(upTo: Self.answerBytes)
        } catch let error as TransportError {
            return failed("cannot be used: \(error)")
        }
        guard response.status == 200 else { return refusal(response, body, of: key) }
        guard (try? request.response.open(body)) != nil else {
            return failed("answers 200, but the response is not one that the gateway sealed for this request")
        }
        return Report(outcome: .accepted)
    }

    private func post(_ message: [UInt8]) throws -> TransportRequest {
        let url = try TransportURL(settings.relay)
        var options = TransferOptions()
        options.connectTimeout = Self.connectTimeout
        options.totalTimeout = Self.timeout
        options.isIdempotent = false
        let pins = relay.map { $0.pins.isEmpty ? managedTrustRoots : $0.pins } ?? []
        let evaluator: any ServerTrustEvaluating =
            pins.isEmpty || relay?.enforce == false
            ? DefaultTrustEvaluator() : try PublicKeysTrustEvaluator(withoutBackup: Set(pins.map { try Pin($0) }))
        let policy = TrustPolicy(
            rules: try HostMap([(HostPattern(url.host), TrustRule(evaluators: [evaluator]))]),
            defaultAnchors: try relay?.trustRoots.map { try TrustAnchors(pem: $0) } ?? .system())
        return TransportRequest(
            url: url, method: .post, headerFields: [.contentType: OHTTPMediaType.request], body: .bytes(message), policy: policy,
            options: options)
    }

    private func refusal(_ response: TransportResponse, _ body: [UInt8], of key: KeyConfiguration) -> Report {
        // A widely used gateway answers 401 to a key that it does not know.
        guard response.status == 401 || response.status == 400 && Problem.type(in: body) == OHTTPProblemType.key else {
            return failed("or the gateway behind it answers \(response.status) instead of sending an encapsulated response")
        }
        return Report(
            outcome: .keyRefused,
            message: "the gateway does not accept key \(key.id), which apps seal requests to; publish its present keys: "
                + "approov oblivious -set -relay \(settings.relay) -keyConfig https://GATEWAY/ohttp-keys")
    }

    private func failed(_ how: String) -> Report {
        Report(
            outcome: .relayFailed,
            message:
                "the relay \(settings.relay) \(how); check that relay and gateway run, and that the relay's URL is right"
        )
    }
}
