import Approov
import ArgumentParser
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPRecording
import HTTPTypes

/// `approov call`: one request through `ApproovSession`.
struct CallCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Make one attested and pinned request, like curl.",
        discussion: """
            approov call https://api.example.com/v1/shapes \\
                -H 'Authorization: Bearer …' --bind Authorization

            Prints the response body on standard output. It attests the approov
            executable itself: register that executable to get a valid token.
            Redirects are followed; each redirect's host has its own token and
            pins.

            approov call https://host/ --no-attest --cacert root.pem --pin sha256/…
                sends the request without a token, and checks the server's
                certificate and pins; needs no configuration and writes no
                state
            approov call https://host/ --no-attest --relay https://relay/ \\
                --key-config https://gateway/ohttp-keys
                sends the request inside Oblivious HTTP; --cacert and --pin then
                apply to the relay, and --cacert also to the URL of the keys

            Exit codes: 0 for a 2xx status, 22 for any other status, 60 if the
            server's certificate or pins were refused, 2 for wrong usage, 1 for
            any other failure.
            """)

    @Argument(help: "The URL.")
    var url: String

    @Option(name: .customShort("X"), help: ArgumentHelp("The method. Default: GET, or POST with -d.", valueName: "method"))
    var method: String?

    @Option(
        name: .customShort("H"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A request header. Repeatable.", valueName: "'name: value'"))
    var headers: [String] = []

    @Option(
        name: .customShort("d"), parsing: .unconditional,
        help: ArgumentHelp("The request body, sent unchanged; @FILE sends a file.", valueName: "data|@file"))
    var body: String?

    @Option(
        name: .long, help: ArgumentHelp("The initial configuration. Default: ./approov-initial.config.", valueName: "file"))
    var config: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The folder of the installation key and the stored configuration. Default: under $XDG_STATE_HOME, else under ~/.local/state.",
            valueName: "dir"))
    var state: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Bind the token to this header of the request. Repeatable; the order counts.", valueName: "header"))
    var bind: [String] = []

    @Flag(name: .long, help: "Attest for every attempt of this request, and send a limited-use token.")
    var limitedUse = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Sign the request (RFC 9421) with the installation's key, the account's message-signing key, or both.",
            valueName: "install|account|both"))
    var sign: SignChoice?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("With --sign install or both: the keyid of the installation's signature.", valueName: "id"))
    var installKeyID: String?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "With --sign account or both: the keyid of the account's signature, which must be the token's mskid.", valueName: "id"))
    var accountKeyID: String?

    @Option(
        name: .customLong("substitute-header"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Replace the secure string's key in this header with the string. Give text before the key after a colon and a space. "
                + "For the URL's host only. Repeatable.", valueName: "name[: prefix]"))
    var substitutedHeaders: [String] = []

    @Option(
        name: .customLong("substitute-query"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("The same for the value of this query parameter. Repeatable.", valueName: "name"))
    var substitutedQueryParameters: [String] = []

    @Flag(name: .customShort("i"), help: "Print status and headers before the body.")
    var includeHead = false

    @Flag(name: .customShort("v"), help: "Describe each request on standard error, without tokens and header values.")
    var verbose = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Also record each request and response in this folder, for ReplayTransport or a replay server, with secrets redacted.",
            valueName: "dir"))
    var record: String?

    @Flag(name: .long, help: "Send no token; needs no configuration and writes no state.")
    var noAttest = false

    @Option(name: .customLong("cacert"), help: ArgumentHelp("PEM roots to trust in place of the system's.", valueName: "file"))
    var caCert: String?

    @Option(
        name: .customLong("pin"),
        help: ArgumentHelp("A pin of the URL's host, or with --relay of the relay; one must match. Repeatable.", valueName: "sha256/…"))
    var pins: [String] = []

    @Flag(name: .long, help: "Refuse hosts that are neither in the configuration nor pinned with --pin.")
    var allHostsEvaluated = false

    @Flag(name: .long, help: "Refuse to send the request other than inside Oblivious HTTP.")
    var oblivious = false

    @Option(
        name: .long,
        help: ArgumentHelp("With --no-attest: the OHTTP relay to use. Without --no-attest the configuration names it.", valueName: "url"))
    var relay: String?

    @Option(
        name: .long,
        help: ArgumentHelp("With --relay: the gateway's application/ohttp-keys, a file or a URL.", valueName: "file|url"))
    var keyConfig: String?

    func validate() throws {
        // Errors do not quote the URL: it may hold a password.
        guard URL(string: url)?.host() != nil else { throw ValidationError("The URL must have a scheme and a host.") }
        // The wrapped session would handle any other scheme, without pins or relay.
        guard ["http", "https"].contains(URL(string: url)?.scheme?.lowercased()) else {
            throw ValidationError("The URL must begin with https:// or http://.")
        }
        for (option, value) in [("--config", config), ("--state", state), ("--record", record)] where value?.isEmpty == true {
            throw ValidationError("\(option) is empty: give a path.")
        }
        if let method, HTTPRequest.Method(method) == nil { throw ValidationError("-X must be one word, such as GET or POST.") }
        if noAttest, config != nil || state != nil || !bind.isEmpty || limitedUse {
            throw ValidationError("--config, --state, --bind and --limited-use are not valid with --no-attest.")
        }
        if sign != nil, noAttest || oblivious {
            throw ValidationError(
                "--sign is not valid with --no-attest, because only requests with a token are signed, nor with --oblivious, because a"
                    + " signature names the installation.")
        }
        if installKeyID != nil, sign != .install, sign != .both {
            throw ValidationError("--install-key-id is only valid with --sign install or both.")
        }
        if accountKeyID != nil, sign != .account, sign != .both {
            throw ValidationError("--account-key-id is only valid with --sign account or both.")
        }
        if noAttest, !substitutedHeaders.isEmpty || !substitutedQueryParameters.isEmpty {
            throw ValidationError(
                "--substitute-header and --substitute-query are not valid with --no-attest: only an attested app gets secrets.")
        }
        do {
            _ = try substitutions()
        } catch {
            throw ValidationError("--substitute-header and --substitute-query: \(error)")
        }
        guard (relay == nil) == (keyConfig == nil) else { throw ValidationError("--relay and --key-config must be given together.") }
        if record != nil, relay != nil || oblivious {
            throw ValidationError("--record is not valid with --relay or --oblivious, because no one can read a recorded sealed message.")
        }
        if relay != nil, !noAttest {
            throw ValidationError("--relay is only valid with --no-attest: for an attested call the configuration names the relay.")
        }
        if oblivious, noAttest, relay == nil { throw ValidationError("--oblivious with --no-attest needs --relay and --key-config.") }
        if let relay { _ = try ServerOptions.url(relay, of: "--relay", such: "https://relay.example.com/") }
        try ServerOptions.check(pins: pins)
        for header in headers where Self.field(header) == nil {
            throw ValidationError("-H must be 'Name: value' on one line, with a valid name and value.")
        }
        try refuseRepeatedHeaders()
    }

    /// Refuses a repeated header: the two lines would become one, with a value that is neither.
    private func refuseRepeatedHeaders() throws {
        var single: Set<String> = [
            "authorization", "content-length", "content-type", "cookie", "host", "proxy-authorization", "user-agent",
        ]
        let bound = Set(bind.map { $0.lowercased() })
        single.formUnion(bound)
        var seen: Set<String> = []
        for (name, _) in headers.compactMap(Self.field) where single.contains(name.lowercased()) && !seen.insert(name.lowercased()).inserted
        {
            throw ValidationError(
                bound.contains(name.lowercased())
                    ? "-H gives \(name) twice, but the token can be bound to only one line (bindingAmbiguous): give it once."
                    : "-H gives \(name) twice, but a request has only one: give it once.")
        }
    }

    func run() async throws {
        guard let url = URL(string: url) else {
            throw CommandFailure("the URL is malformed; write for example https://api.example.com/", exitCode: CommandFailure.usage)
        }
        let call = Call(
            url: url, method: method, headers: headers.compactMap(Self.field), body: body, includeHead: includeHead, verbose: verbose)
        do {
            let service = try service()
            try refuseUselessOptions(HostTreatment(of: url, by: service?.configuration, evaluated: !pins.isEmpty, relay: relay))
            let narrator = try narrator(of: call, service)
            let session = try await session(service, narrator)
            let outcome: Result<Int, any Error>
            do {
                outcome = .success(try await call.perform(with: session))
            } catch {
                outcome = .failure(error)
                try narrator?.nothingLeft()
            }
            // The process ends soon: a configuration from the authority must be stored before that.
            await service?.finishStoring()
            let status = try outcome.get()
            guard (200..<300).contains(status) else {
                throw CommandFailure("the server answered \(status)", exitCode: CommandFailure.otherStatus)
            }
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(ofCall: error, bound: bind, given: call.headers)
        }
    }

    /// The transport that describes each request, with `-v`.
    private func narrator(of call: Call, _ service: ApproovService?) throws -> CallNarrator? {
        guard verbose else { return nil }
        let plan = CallPlan(
            url: call.url, method: call.sentMethod, headers: call.headers, bind: bind, isEvaluated: !pins.isEmpty, relay: relay,
            sign: sign, service: service, substitutedHeaders: headerPlaces, substitutedQueryParameters: substitutedQueryParameters)
        return CallNarrator(try CurlTransport(), plan: plan)
    }

    /// Refuses `--pin` and `--record` for an oblivious host, because they would be ignored.
    ///
    /// The gateway connects to that host with its own pins, and only sealed messages leave this program, which are not recorded.
    private func refuseUselessOptions(_ treatment: HostTreatment) throws {
        guard treatment.isObliviousByConfiguration else { return }
        if record != nil {
            throw CommandFailure(
                "--record has no effect on \(treatment.host): requests to it travel through a relay, and no one can read a recorded sealed "
                    + "message; omit --record", exitCode: CommandFailure.usage)
        }
        guard !pins.isEmpty else { return }
        throw CommandFailure(
            "--pin has no effect on \(treatment.host): requests to it travel through a relay, and the gateway checks the host's pins "
                + "(approov gateway --pin); omit --pin", exitCode: CommandFailure.usage)
    }

    private func session(_ service: ApproovService?, _ narrator: CallNarrator?) async throws -> ApproovSession {
        let anchors = try Files.anchors(at: caCert, exitCodeWithoutRoot: CommandFailure.trustRefused)
        var evaluators: [String: any ServerTrustEvaluating] = [:]
        if !pins.isEmpty {
            evaluators[try TransportURL(relay ?? url).host.name] = try PublicKeysTrustEvaluator(withoutBackup: Pin.list(pins))
        }
        let trust = ApproovTrustManager(allHostsMustBeEvaluated: allHostsEvaluated, evaluators: evaluators, anchors: anchors)
        var configuration = ApproovSessionConfiguration()
        configuration.bindHeaders = bind
        configuration.limitedUse = limitedUse
        configuration.signing = sign?.signing(installationKeyID: installKeyID, accountKeyID: accountKeyID)
        configuration.substitutions = try substitutions()
        configuration.obliviousRoute = try await route(anchors)
        configuration.allRequestsMustBeOblivious = oblivious
        configuration.transport =
            try record.map { folder in
                try RecordingTransport(wrapping: narrator ?? CurlTransport(), into: URL(filePath: folder, directoryHint: .isDirectory))
            } ?? narrator
        return try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: service, trustManager: trust, configuration: configuration)
    }

    /// The places of `--substitute-header` and `--substitute-query`, for the URL's host.
    private func substitutions() throws -> [Substitution] {
        guard !substitutedHeaders.isEmpty || !substitutedQueryParameters.isEmpty else { return [] }
        return [
            try Substitution(
                hosts: [TransportURL(url).host.name],
                headers: Dictionary(headerPlaces) { first, _ in first }, queryParameters: substitutedQueryParameters)
        ]
    }

    /// The header and the text before the placeholder, of each `--substitute-header`.
    private var headerPlaces: [(String, String)] {
        substitutedHeaders.map { text in
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), parts.count == 1 ? "" : String(parts[1].trimmingPrefix(" ")))
        }
    }

    private func route(_ anchors: TrustAnchors?) async throws -> ObliviousRoute? {
        guard let relay, let keyConfig else { return nil }
        guard let url = URL(string: relay) else {
            throw CommandFailure(
                "--relay \(Console.withoutSecrets(relay)) is not a URL; give the relay's https URL", exitCode: CommandFailure.usage)
        }
        let keys = try await KeyConfigurationSource(keyConfig, of: "--key-config").read(trusting: anchors)
        return try ObliviousRoute(relay: url, keyConfiguration: Data(keys))
    }

    private func service() throws -> ApproovService? {
        guard !noAttest else { return nil }
        let file = config ?? ApproovConfiguration.fileName
        guard FileManager.default.fileExists(atPath: file) else {
            throw CommandFailure(
                "there is no file \(file); write it from the authority's store with `approov sdk --data DIR -getConfig \(file)`, name "
                    + "another file with --config, or call without a token with --no-attest")
        }
        let configuration = try ApproovConfiguration(contentsOf: URL(filePath: file))
        // Each account has its own folder, because a configuration belongs to one account. Encode the name: it may hold path characters.
        let account = configuration.initial.account.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "account"
        let directory =
            state.map { URL(filePath: $0, directoryHint: .isDirectory) }
            ?? ApproovService.defaultStateDirectory().appending(component: account, directoryHint: .isDirectory)
        return try ApproovService(configuration: configuration, stateDirectory: directory)
    }

    private static func field(_ header: String) -> (name: String, value: String)? {
        guard let colon = header.firstIndex(of: ":"), HTTPField.Name(String(header[..<colon])) != nil else { return nil }
        let value = header[header.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        guard HTTPField.isValidValue(String(value)) else { return nil }
        return (String(header[..<colon]), String(value))
    }
}
