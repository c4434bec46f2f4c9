import ArgumentParser

/// `approov demo`: the whole system on loopback.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run the whole system on this machine; show that it works and that attacks fail.",
        discussion: """
            Starts an authority, a protected API, an authorization server, a relay,
            a gateway, an impostor and an app on loopback, with real sockets and
            TLS, on ports that the system picks. It needs no network, no account and
            no root privileges.

            Prints a line for each step: what it proves, what the demo saw, and how
            long it took; then how many steps succeeded, and what to try next. With
            --json it prints only an object for each step: step, ok, detail,
            milliseconds. It exits 0 only if every step succeeded, and leaves
            nothing behind. A signal that interrupts it makes it exit with 128 and
            the signal's number.

            Examples:
            approov demo
            approov demo --json
            """)

    @OptionGroup var output: OutputOptions

    func run() async throws {
        guard try await DemoRun(json: output.json).run() else { throw CommandFailure(nil) }
    }
}
