import ApproovAuthority
import ApproovTokens
import ArgumentParser
import Attestation
import CertificatePinning
import Foundation

/// `approov token`: makes tokens to test a backend with, and checks tokens as a backend does.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Make example tokens, check a token, or explain an attestation response code (ARC).",
        discussion: """
            -genExample makes a token as the authority does, for testing a
            backend. With -type invalid it makes a decoy: a token that looks right
            but does not verify, like that of an app whose attestation failed. It
            is an HS256 token, even for a host with a keyset.

            -check verifies a token as a backend does, with the account's keys.
            It prints the claims on standard output and exits 0, or prints the
            cause on standard error and exits 1. For a token of a failed
            attestation it says why the attestation failed. During the overlap of
            two secrets it accepts both.

            -arc explains an attestation response code and says what to do. The
            code is the arc claim of a token; an app sees it in the result of its
            token request. With --json it prints an object.

            DATA is the value that the token is bound to, for example the value of
            the Authorization header.

            Examples:
            approov token -genExample api.example.com
            approov token -genExample api.example.com -setDataHashInToken "Bearer abc"
            approov token -check "$TOKEN" -host api.example.com
            approov token -arc IXPSB7TRK26LXE3MIXPSB7TRKM
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case valid, invalid
    }

    @Option(name: .dash("genExample"), help: ArgumentHelp("Make an example token for a host.", valueName: "host"))
    var genExample: String?

    @Option(
        name: .dash("type"), help: ArgumentHelp("With -genExample: whether the token verifies. Default: valid.", valueName: "valid|invalid")
    )
    var type: Kind?

    // Unconditional: a damaged token may begin with a dash.
    @Option(name: .dash("check"), parsing: .unconditional, help: ArgumentHelp("Check a token with the account's keys.", valueName: "token"))
    var check: String?

    @Option(name: .dash("arc"), help: ArgumentHelp("Explain an attestation response code.", valueName: "code"))
    var arc: String?

    @Option(
        name: .dash("setDataHashInToken"), parsing: .unconditional,
        help: ArgumentHelp("Bind the example token to this value, or check that the token is bound to it.", valueName: "data"))
    var data: String?

    @Option(name: .dash("host"), help: ArgumentHelp("With -check: also check that the token's audience is this host.", valueName: "host"))
    var host: String?

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try OneOf.check(["-genExample": genExample != nil, "-check": check != nil, "-arc": arc != nil])
        if data != nil, arc != nil { throw ValidationError("-setDataHashInToken is only valid with -genExample or -check.") }
        if type != nil, genExample == nil { throw ValidationError("-type is only valid with -genExample.") }
        if host != nil, check == nil { throw ValidationError("-host is only valid with -check.") }
        if let host, (try? CanonicalHost(host)) == nil {
            throw ValidationError("-host must be a host name or an address, such as api.example.com.")
        }
    }

    func run() async throws {
        let path = store.path
        let store = try store.open(.reading)
        if let genExample {
            let token = try store.exampleToken(forHost: genExample, isValid: type != .invalid, boundTo: data)
            if output.json { return try Console.json(["token": token]) }
            Console.line(token)
        } else if let check {
            // Tokens name the host in its canonical spelling.
            let audience = try host.map { try CanonicalHost($0).name }
            // Outside of the `do`, because its error is not the token's.
            let verifier = try store.tokenVerifier(audience: audience)
            do {
                let token = try verifier.verify(check, binding: data.map { .required([$0]) } ?? .ignored)
                Console.line(String(decoding: token.claims.json.serialized(), as: UTF8.self))
            } catch {
                let cause = RefusedToken(token: check, error: error).cause(in: store).map { ": \($0)" } ?? ""
                throw CommandFailure("\(error)\(cause); checked with the account in \(path)")
            }
        } else if let arc {
            do {
                try explain(store.decodeARC(arc))
            } catch let error as AuthorityError {
                throw CommandFailure("\(error); checked with the account in \(path)")
            }
        }
    }

    private struct Explanation: Encodable {
        let passed: Bool
        let reasons: [String]
        let meaning: [String]
        let remedies: [String]
        let devicePrefix: String?
        let issuedAt: String?
    }

    private func explain(_ arc: ARC) throws {
        let reasons = arc.reasons.sorted { $0.rawValue < $1.rawValue }
        let namesDevice = arc.deviceHint.contains { $0 != 0 }
        // Three bytes are four characters of base64, with which the same device's did claim begins.
        let device = namesDevice ? Data(arc.deviceHint.prefix(3)).base64EncodedString() : nil
        let issued = namesDevice ? RFC3339.text(arc.issuedAt) : nil
        if output.json {
            return try Console.json(
                Explanation(
                    passed: reasons.isEmpty, reasons: reasons.map(\.rawValue), meaning: reasons.map(\.meaning),
                    remedies: reasons.map(\.remedy), devicePrefix: device, issuedAt: issued))
        }
        Console.line(reasons.isEmpty ? "passed" : "rejected: \(reasons.map(\.rawValue).joined(separator: ", "))")
        if reasons.isEmpty {
            Console.line(
                "The authority signed the token with the account's key: it accepted the evidence, or a development key or the policy of the"
            )
            Console.line("device (approov device -list) excused the app. If it was excused, the token's claim anno says so.")
        }
        for reason in reasons { Console.line("\(reason.rawValue): \(reason.meaning). \(reason.remedy).") }
        guard let device, let issued else { return Console.line("device: not named, because the host is oblivious") }
        Console.line("device: its did claim begins with \(device)")
        Console.line("issued: \(issued)")
    }
}
