import ApproovAuthority
import ArgumentParser

/// `approov policy`: what the authority requires of apps, and what it tells them.
struct PolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Show or set the account's policy.",
        discussion: """
            Without an option it shows the policy.

            With rejection reasons on, results tell apps why their evidence
            failed; attackers learn from it too.

            With the audience on, as at first, every token names the host that
            it is for in its aud claim. Turn it off for backends that refuse
            any aud: PyJWT does, where jwt.decode gets no audience=. Tokens are
            then valid at every host that shares the secret or the keyset, and a
            backend that is given an audience refuses them.

            Apps say in which environment they run: debugger, ld-preload, root;
            debugger-unknown and ld-preload-unknown where they could not look.
            A flag that is to reject makes the attestation fail; one to annotate
            is named in the token's anno claim, for the API to judge; one to
            ignore does nothing. Running authorities take a change up within a
            second.

            Examples:
            approov policy
            approov policy -setRejectionReasons on
            approov policy -setAudience off
            approov policy -setEnvironment root reject
            """)

    /// The flags that may be set; an unregistered executable is rejected under every policy.
    private static let flags = RejectionReason.allCases.filter { $0 != .appNotRegistered }

    @Option(name: .dash("setRejectionReasons"), help: ArgumentHelp("Whether results say why.", valueName: "on|off"))
    var setRejectionReasons: Switch?

    @Option(name: .dash("setAudience"), help: ArgumentHelp("Whether tokens name their host (aud).", valueName: "on|off"))
    var setAudience: Switch?

    @Option(
        name: .dash("setEnvironment"), parsing: .upToNextOption,
        help: ArgumentHelp("What a flag of the environment does.", valueName: "flag reject|annotate|ignore"))
    var setEnvironment: [String] = []

    @Flag(name: .dash("show"), help: "Show the policy, as every change does too.")
    var show = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws { _ = try environmentChange() }

    func run() async throws {
        let store = try store.open(setRejectionReasons == nil && setAudience == nil && setEnvironment.isEmpty ? .reading : .making)
        if let setRejectionReasons { try await store.setRejectionReasons(setRejectionReasons == .on) }
        if let setAudience { try await store.setNamesAudience(setAudience == .on) }
        if let (flag, action) = try environmentChange() { try await store.setEnvironmentAction(action, for: flag) }
        try printPolicy(of: store)
    }

    private func environmentChange() throws -> (flag: RejectionReason, action: EnvironmentAction)? {
        guard !setEnvironment.isEmpty else { return nil }
        guard setEnvironment.count == 2, let flag = Self.flags.first(where: { $0.rawValue == setEnvironment[0] }),
            let action = EnvironmentAction(rawValue: setEnvironment[1])
        else {
            throw ValidationError(
                "-setEnvironment wants one of \(Self.flags.map(\.rawValue).joined(separator: ", ")), then reject, annotate or ignore.")
        }
        return (flag, action)
    }

    private struct Policy: Encodable {
        let rejectionReasons: Bool
        let audience: Bool
        let environment: [String: String]
    }

    private func printPolicy(of store: AuthorityStore) throws {
        let actions = Self.flags.map { ($0.rawValue, store.environmentAction(for: $0).rawValue) }
        if output.json {
            try Console.json(
                Policy(
                    rejectionReasons: store.rejectionReasons, audience: store.namesAudience,
                    environment: Dictionary(uniqueKeysWithValues: actions)))
        } else {
            Console.line("rejectionReasons  \(store.rejectionReasons ? "on" : "off")")
            Console.line("audience  \(store.namesAudience ? "on" : "off")")
            for (flag, action) in actions { Console.line("\(flag)  \(action)") }
        }
    }
}
