import ApproovServer
import ArgumentParser

/// `approov policy`: what the authority tells and demands.
struct PolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Show or set the account's policy.",
        discussion: """
            approov policy
            approov policy -setRejectionReasons on

            With rejection reasons on, results tell apps why their evidence
            failed; attackers learn from it too.
            """)

    enum Switch: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }

    @Option(name: .dash("setRejectionReasons"), help: ArgumentHelp("Whether results say why.", valueName: "on|off"))
    var setRejectionReasons: Switch?

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let store = try store.open()
        if let setRejectionReasons { try await store.setRejectionReasons(setRejectionReasons == .on) }
        if output.json {
            try Console.json(["rejectionReasons": store.rejectionReasons])
        } else {
            Console.line("rejectionReasons  \(store.rejectionReasons ? "on" : "off")")
        }
    }
}
