import CertificatePinning
import HTTPClient
import HTTPTypes
import OHTTP

/// The source of a gateway's key configurations: a file, or a URL that answers with `application/ohttp-keys`.
struct KeyConfigurationSource {
    /// How long a fetch may take.
    private static let timeout: Duration = .seconds(30)

    private let source: String
    /// The option's name, for messages.
    private let option: String

    /// Makes a source from an option.
    /// - Parameters:
    ///   - source: The option's value.
    ///   - option: The option's name.
    init(_ source: String, of option: String) {
        self.source = source
        self.option = option
    }

    /// Whether the source is a URL, not a file.
    var isURL: Bool { source.contains("://") }

    /// The option and its value, for messages: a URL's query may hold a secret.
    private var shown: String { "\(option) \(isURL ? Console.withoutSecrets(source) : source)" }

    /// Fetches or reads the key configurations.
    /// - Parameter anchors: The roots to trust for a URL; nil for the system's.
    /// - Returns: The bytes of `application/ohttp-keys`.
    /// - Throws: `CommandFailure` that names the source; `TransportError` that names it, when the request to the URL fails.
    func read(trusting anchors: TrustAnchors? = nil) async throws -> [UInt8] {
        let bytes =
            try isURL
            ? await fetch(trusting: anchors) : Files.bytes(at: source, limit: KeyConfigurationList.maximumSize, what: option)
        do throws(OHTTPError) {
            _ = try KeyConfigurationList.checked(published: bytes)
        } catch {
            guard error.code == .malformedKeyConfiguration else { throw CommandFailure("\(shown): \(error.message)") }
            throw CommandFailure("\(shown) has no key configurations; give what the gateway answers at /ohttp-keys")
        }
        return bytes
    }

    private func fetch(trusting anchors: TrustAnchors?) async throws -> [UInt8] {
        let url: TransportURL
        do {
            url = try TransportURL(source)
        } catch {
            throw CommandFailure("\(shown) is not a URL of key configurations: \(error)")
        }
        guard url.isSecure || url.host.isLoopback else {
            throw CommandFailure(
                "\(shown): plain http could let an attacker change the keys and read requests; give an https URL"
            )
        }
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        var options = TransferOptions()
        options.totalTimeout = Self.timeout
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try anchors ?? .system())
        do {
            let response = try await transport.send(
                TransportRequest(url: url, headerFields: [.accept: OHTTPMediaType.keys], policy: policy, options: options))
            guard response.status == 200 else {
                throw CommandFailure("\(shown) answered with status \(response.status) instead of keys; check the URL")
            }
            return try await response.body.collect(upTo: KeyConfigurationList.maximumSize)
        } catch let error as TransportError {
            guard error.code != .bodyTooLarge else {
                throw CommandFailure(
                    "\(shown) answered with more than \(KeyConfigurationList.maximumSize >> 10) KiB; it is not /ohttp-keys")
            }
            // Not a CommandFailure: a refused certificate has its own exit code in `approov call`.
            throw TransportError(error.code, "\(shown): \(error.message)", cause: error.cause)
        }
    }
}
