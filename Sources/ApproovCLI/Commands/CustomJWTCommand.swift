import ApproovAuthority
import ArgumentParser

/// `approov customjwt`: whether apps may request JWTs with their own claims.
struct CustomJWTCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "customjwt",
        abstract: "Show or set whether genuine apps may request JWTs with their own claims.",
        discussion: """
            A custom JWT is for a party that is not an API of this account. The
            authority signs it only after genuine evidence. Its aud is the
            audience that the app requested. The authority adds iss (the account),
            iat and exp. An app cannot set the claims of a token.

            A custom JWT is signed with a keyset made for it, and its typ is
            approov-custom+jwt, so that no check of tokens accepts it. The newest
            such keyset signs. The public keys are at
            /.well-known/custom-jwks.json; `approov keyset -kid KID -getPEM FILE`
            writes one to a file.

            Without an option, shows the setting. Default: off. Running
            authorities apply a change within a second.

            Examples:
            approov keyset -add ES256 -kid partner-1 -use custom
            approov customjwt -enable on
            approov customjwt
            """)

    @Option(name: .dash("enable"), help: ArgumentHelp("Whether apps may request custom JWTs.", valueName: "on|off"))
    var enable: Switch?

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    private struct State: Encodable {
        let enabled: Bool
        let kid: String?
    }

    func run() async throws {
        let store = try store.open(enable == nil ? .reading : .making)
        if let enable { try await store.setAllowsCustomTokens(enable == .on) }
        let keyset = store.customKeyset?.kid
        if store.allowsCustomTokens, keyset == nil {
            Console.note(
                "approov: the account has no keyset for custom JWTs, so apps get none yet; add one: "
                    + "approov keyset -add ES256 -kid KID -use custom")
        }
        if output.json { return try Console.json(State(enabled: store.allowsCustomTokens, kid: keyset)) }
        Console.line("customJWT  \(store.allowsCustomTokens ? "on" : "off")")
        Console.line("keyset  \(keyset ?? "-")")
    }
}
