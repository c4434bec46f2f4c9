import ApproovBase
import ApproovAuthority
import Attestation
import CertificatePinning
import HTTPClient
import HTTPTypes
import OHTTP

/// Asks the gateway whether it accepts the key that apps are told to seal with: through the relay, as an app does.
///
/// The request inside is for a name that no host has (RFC 6761 section 6.4), so that no gateway forwards it anywhere. Any answer inside of
/// encapsulation shows that relay, gateway and key belong together.
struct PublishedKeyCheck {
    /// What came of it.
    struct Report: Encodable, Equatable {
        enum Outcome: String, Encodable {
            /// The gateway opened the request.
            case accepted
            /// The gateway does not accept the key.
            case keyRefused
            /// No gateway answered.
            case relayFailed
        }

        let outcome: Outcome
        /// What is wrong, and what to do; nil when nothing is.
        var message: String?
    }

    /// The most bytes of an answer.
    private static let answerBytes = 64 << 10
    private static let target = HTTPRequest(method: .get, scheme: "https", authority: "approov-check.invalid", path: "/")

    /// What apps are told.
    let settings: ObliviousSettings
    /// The account's entry for the relay; nil when it has none.
    let relay: HostSettings?
    /// The pins that hold where the entry has none.
    let managedTrustRoots: [String]

    /// The check of an account's relay and keys; nil when it has none.
    init?(_ store: AuthorityStore) throws {
        guard let settings = store.obliviousSettings else { return nil }
        self.settings = settings
        relay = try store.host(for: TransportURL(settings.relay).host.name)?.settings
        managedTrustRoots = store.managedTrustRoots
    }

    /// Asks, ten seconds at most.
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
            return failed("answers 200, but with nothing that was sealed for this request: is it the URL of a relay?")
        }
        return Report(outcome: .accepted)
    }

    private func post(_ message: [UInt8]) throws -> TransportRequest {
        let url = try TransportURL(settings.relay)
        var options = TransferOptions()
        options.connectTimeout = .seconds(5)
        options.totalTimeout = .seconds(10)
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
        let problem = try? JSONValue(parsing: body, limit: Self.answerBytes).object()
        // 401 is what a widely used gateway answers to a key that it does not know.
        guard response.status == 401 || response.status == 400 && problem?["type"] == .string(OHTTPProblemType.key) else {
            return failed("or the gateway behind it, answers \(response.status) and not with an encapsulated response")
        }
        return Report(
            outcome: .keyRefused,
            message: "the gateway does not accept key \(key.id), which apps seal with: publish its present keys with "
                + "approov oblivious -set -relay \(settings.relay) -keyConfig https://GATEWAY/ohttp-keys")
    }

    private func failed(_ how: String) -> Report {
        Report(
            outcome: .relayFailed,
            message:
                "the relay \(settings.relay) \(how); see that relay and gateway run, and name the relay again with approov oblivious -set"
        )
    }
}
