import ApproovServer
import ApproovTokens
import ArgumentParser

/// `approov secret`: the key that signs and checks tokens.
struct SecretCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret",
        abstract: "Show or change the account secret, which signs tokens (HS256).",
        discussion: """
            approov secret -get base64
            approov secret -change

            The secret is for the backends that check tokens: keep it like a
            password. After a change, tokens of the old secret do not verify.
            """)

    enum Encoding: String, ExpressibleByArgument, CaseIterable {
        case base64, base64url
    }

    @Option(name: .dash("get"), help: ArgumentHelp("Print the secret.", valueName: "base64|base64url"))
    var get: Encoding?

    @Flag(name: .dash("change"), help: "Make a new secret.")
    var change = false

    @OptionGroup var store: StoreOptions

    func validate() throws {
        guard (get == nil) == change else { throw ValidationError("Give either -get or -change.") }
    }

    func run() async throws {
        let store = try store.open(change ? .changing : .reading)
        switch get {
        case .base64: Console.line(store.accountSecret.base64)
        case .base64url: Console.line(store.accountSecret.base64url)
        case nil:
            try await store.changeAccountSecret()
            Console.line("changed; give the new one to every backend: approov secret -get base64")
        }
    }
}
