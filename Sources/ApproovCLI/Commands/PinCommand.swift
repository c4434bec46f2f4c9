import ApproovBase
import ArgumentParser
import CertificatePinning
import Foundation
import HTTPClient

/// `approov pin`: prints the pins of servers and files, and checks certificate paths without a network.
struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Show the pins of a server or a file, or check a certificate chain.",
        discussion: """
            A pin is sha256/ and the base64 of the SHA-256 of a public key.

            -get shows the pins of the certificates that a server presents, the
            server's own first; it sends no HTTP request. If a file (not a folder)
            has that name, it shows the pins of the file's certificates,
            certificate requests or keys (PEM or DER). Pin the first key and a
            backup key.

            -check validates a chain as an app does, without a network. It exits 0
            if the chain is trusted, or prints the reason and exits 60.

            Examples:
            approov pin -get api.example.com
            approov pin -get server.pem
            approov pin -check api.example.com --chain chain.pem \\
                --roots roots.pem --pin sha256/…
            """)

    @Option(name: .dash("get"), help: ArgumentHelp("Show the pins of a server or a file.", valueName: "host[:port]|file"))
    var get: String?

    @Option(name: .dash("check"), help: ArgumentHelp("Check the chain of --chain for this host.", valueName: "host"))
    var check: String?

    @Option(name: .long, help: ArgumentHelp("With -check: the server's PEM chain, its own certificate first.", valueName: "file"))
    var chain: String?

    @Option(name: .long, help: ArgumentHelp("With -check: PEM roots to trust.", valueName: "file"))
    var roots: String?

    @Option(
        name: .customLong("pin"),
        help: ArgumentHelp("With -check: a pin; one must match. Repeatable. Default: path validation alone.", valueName: "sha256/…")
    )
    var pins: [String] = []

    @Option(name: .long, help: ArgumentHelp("With -check: validate for this time. Default: now.", valueName: "RFC 3339"))
    var time: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        try OneOf.check(["-get": get != nil, "-check": check != nil])
        if check != nil {
            guard chain != nil, roots != nil else { throw ValidationError("-check needs --chain FILE and --roots FILE.") }
            if let time, RFC3339.date(time) == nil {
                throw ValidationError("--time must be a time in RFC 3339, for example 2026-01-31T12:00:00Z.")
            }
        } else if chain != nil || roots != nil || time != nil || !pins.isEmpty {
            throw ValidationError("--chain, --roots, --pin and --time are only valid with -check.")
        }
    }

    func run() async throws {
        if let get {
            try await PinsOfSource(source: get, json: output.json).run()
        } else if let check, let chain, let roots {
            try judge(host: check, chain: chain, roots: roots)
        }
    }

    private func judge(host: String, chain: String, roots: String) throws {
        let evaluator: any ServerTrustEvaluating
        do {
            evaluator = pins.isEmpty ? DefaultTrustEvaluator() : try PublicKeysTrustEvaluator(withoutBackup: Pin.list(pins))
        } catch {
            throw ValidationError("--pin: \(error)")
        }
        let host = try CanonicalHost(host)
        let certificates = try Certificate.all(inPEM: Files.text(at: chain, what: "the chain"))
        let anchors: TrustAnchors
        do {
            anchors = try TrustAnchors(pem: Files.text(at: roots, what: "the roots"))
        } catch let error as PinningError where error.code == .noAnchors {
            // The roots parse, but no path can end in them: the command reports a refusal.
            guard output.json else { throw CommandFailure("\(error)", exitCode: CommandFailure.trustRefused) }
            try Console.json(PinReport(host: host.name, trusted: false, refusal: error.description, certificates: []))
            throw CommandFailure(nil, exitCode: CommandFailure.trustRefused)
        }
        let result = ChainValidator.evaluate(
            chain: certificates, host: host, rule: TrustRule(evaluators: [evaluator]), defaultAnchors: anchors,
            time: time.flatMap(RFC3339.date) ?? Date())
        switch result {
        case .success(let trust):
            let path = trust.chain.map { PinReport.Entry(subject: $0.subject, pin: $0.pin.description) }
            if output.json {
                try Console.json(PinReport(host: host.name, trusted: true, refusal: nil, certificates: path))
            } else {
                Console.line("trusted: \(host.name)")
                for entry in path { Console.line("\(entry.pin)  \(entry.subject)") }
            }
        case .failure(let refusal):
            guard output.json else { throw CommandFailure("\(refusal)", exitCode: CommandFailure.trustRefused) }
            try Console.json(PinReport(refusal: refusal))
            throw CommandFailure(nil, exitCode: CommandFailure.trustRefused)
        }
    }
}
