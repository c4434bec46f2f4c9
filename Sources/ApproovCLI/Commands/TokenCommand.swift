import ApproovServer
import ApproovTokens
import ArgumentParser
import Attestation
import Foundation

/// `approov token`: tokens to try a backend with, and the check that a backend makes.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Make example tokens, check a token with the account's keys, or read an attestation response code.",
        discussion: """
            approov token -genExample HOST [-setDataHashInToken DATA]
            approov token -check TOKEN [-setDataHashInToken DATA] [-host HOST]
            approov token -arc CODE
                what an attestation response code says, which an app's error or
                a token's arc claim shows

            DATA is the value that tokens are bound to, for example that of the
            Authorization header. -check exits 0 with the claims on standard
            output, or 1 with the reason on standard error.
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case valid, invalid
    }

    @Option(name: .dash("genExample"), help: ArgumentHelp("Make a token for a host.", valueName: "host"))
    var genExample: String?

    @Option(name: .dash("type"), help: ArgumentHelp("With -genExample: whether it verifies. Default: valid.", valueName: "valid|invalid"))
    var type: Kind?

    // Unconditional: a damaged token may begin with a dash, and is a token all the same.
    @Option(name: .dash("check"), parsing: .unconditional, help: ArgumentHelp("Check a token.", valueName: "token"))
    var check: String?

    @Option(name: .dash("arc"), help: ArgumentHelp("Say what an attestation response code means.", valueName: "code"))
    var arc: String?

    @Option(
        name: .dash("setDataHashInToken"), parsing: .unconditional,
        help: ArgumentHelp("What the token is, or must be, bound to.", valueName: "data"))
    var data: String?

    @Option(name: .dash("host"), help: ArgumentHelp("With -check: the host that must be the token's audience.", valueName: "host"))
    var host: String?

    @OptionGroup var store: StoreOptions

    func validate() throws {
        guard [genExample, check, arc].count(where: { $0 != nil }) == 1 else {
            throw ValidationError("Give one of -genExample, -check and -arc.")
        }
        if data != nil, arc != nil { throw ValidationError("-setDataHashInToken goes with -genExample and -check.") }
        if type != nil, genExample == nil { throw ValidationError("-type goes with -genExample.") }
        if host != nil, check == nil { throw ValidationError("-host goes with -check.") }
    }

    func run() async throws {
        let path = store.path
        let store = try store.open(.reading)
        if let genExample {
            Console.line(try store.exampleToken(forHost: genExample, isValid: type != .invalid, boundTo: data))
        } else if let check {
            let token = try naming(path) {
                try store.tokenVerifier(audience: host).verify(check, binding: data.map { .required([$0]) } ?? .ignored)
            }
            Console.line(String(decoding: token.claims.json.serialized(), as: UTF8.self))
        } else if let arc {
            explain(try naming(path) { try store.decodeARC(arc) })
        }
    }

    /// Another account's keys are a frequent reason for what fails.
    private func naming<Value>(_ path: String, _ check: () throws -> Value) throws -> Value {
        do {
            return try check()
        } catch {
            throw CommandFailure("\(error); checked with the account in \(path)")
        }
    }

    private func explain(_ arc: ARC) {
        let reasons = arc.reasons.map(\.rawValue).sorted()
        Console.line(reasons.isEmpty ? "passed" : "rejected: \(reasons.joined(separator: ", "))")
        guard arc.deviceHint.contains(where: { $0 != 0 }) else { return Console.line("device: not named, as for every oblivious host") }
        // Three bytes are four characters of base64: what the did claim of the same device begins with.
        Console.line("device: the one whose did claim begins with \(Data(arc.deviceHint.prefix(3)).base64EncodedString())")
        Console.line("issued: \(RFC3339.text(arc.issuedAt))")
    }
}
