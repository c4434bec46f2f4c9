import ApproovAuthority
import ArgumentParser
import Attestation

/// `approov devkey`: the key that lets developers' builds pass.
struct DevkeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devkey",
        abstract: "Show or change the development key, with which builds that are not registered get tokens.",
        discussion: """
            A developer gives the key to the app: ApproovService(…,
            developmentKey:). The app proves that it has the key and never sends
            it. Its tokens are valid, whatever its executable and environment, and
            their anno claim has dev-key, so that a production API can refuse
            them. A build that passes only by the key gets no secure strings and
            no custom JWTs: to try these, register the build (approov
            registration -add).

            The key has no effect until the policy accepts it: approov policy
            -setDevelopmentKey on. Keep it out of what you ship: an app with a key
            that the account does not accept is rejected. If a key became known,
            -change makes a new one; apps with the old one are rejected within a
            second.

            Examples:
            approov devkey -change
            approov devkey -get
            """)

    @Flag(name: .dash("get"), help: "Print the development key, in base64url.")
    var get = false

    @Flag(name: .dash("change"), help: "Make a new development key.")
    var change = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    private struct Key: Encodable {
        let developmentKey: String
        let accepted: Bool
    }

    private struct Change: Encodable {
        let change: String
        let accepted: Bool
    }

    func validate() throws {
        try OneOf.check(["-get": get, "-change": change])
    }

    func run() async throws {
        let store = try store.open(change ? .making : .reading)
        if change {
            let isFirst = store.developmentKey == nil
            try await store.changeDevelopmentKey()
            if output.json {
                try Console.json(Change(change: isFirst ? "made" : "changed", accepted: store.acceptsDevelopmentKey))
            } else if isFirst {
                Console.line("made a development key; give it to developers: approov devkey -get")
            } else {
                Console.line(
                    "changed the development key; builds with the old key are rejected from now on; give the new one to developers: "
                        + "approov devkey -get")
            }
            return note(store)
        }
        guard let key = store.developmentKey else {
            throw CommandFailure("the account has no development key; make one: approov devkey -change")
        }
        guard !output.json else {
            return try Console.json(Key(developmentKey: key.base64url, accepted: store.acceptsDevelopmentKey))
        }
        Console.line(key.base64url)
        note(store)
    }

    private func note(_ store: AuthorityStore) {
        guard !store.acceptsDevelopmentKey else { return }
        Console.note("approov: the policy does not accept the development key yet: approov policy -setDevelopmentKey on")
    }
}
