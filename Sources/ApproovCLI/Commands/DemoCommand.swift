import ArgumentParser

/// `approov demo`: the whole system on loopback.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run the whole system on this machine, and show that it works and that attacks fail.",
        discussion: """
            Starts an authority, a protected API, a relay, a gateway, an
            impostor and an app on loopback, with real sockets and TLS, on ports
            that the system picks.
            Prints a line for each step, with --json as an object: step, ok,
            detail, milliseconds. Exits 0 only if every line held, and leaves
            nothing behind.
            """)

    @OptionGroup var output: OutputOptions

    func run() async throws {
        guard try await DemoRun(json: output.json).run() else { throw CommandFailure(nil) }
    }
}
