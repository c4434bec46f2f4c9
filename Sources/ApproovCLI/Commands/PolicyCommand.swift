import ApproovAuthority
import ArgumentParser

/// `approov policy`: what the authority requires of apps, and what it tells them.
struct PolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Show or set the account's policy.",
        discussion: """
            Without an option, shows the policy.

            With rejection reasons on, results tell apps why their attestation
            failed; attackers learn the reasons too. Default: off.

            With the audience on, every token names its host in the aud claim.
            Default: on. Turn it off for backends that refuse any aud, as PyJWT
            does when jwt.decode gets no audience=. Tokens are then valid at every
            host that shares the secret or the keyset, and backends that check the
            audience refuse them.

            With the issuer on, every token names the account in the iss claim.
            With the subject on, it names the device in the sub claim, as
            "approov|" and the did claim. Both are off by default. (A store of an
            earlier release, which always wrote iss, keeps it on.)

            With installPubKey on, tokens have the app's public key in the ipk
            claim; an API verifies message signatures with that key. Default: on.
            Tokens for oblivious hosts never name the device or its key.

            With developmentKey on, apps that have the key of `approov devkey` get
            valid tokens without being registered; the tokens' anno claim has
            dev-key. Default: off.

            Apps report flags of their environment: debugger, ld-preload, root; and
            debugger-unknown or ld-preload-unknown if they could not find out. The
            action of a flag is reject (the attestation fails), annotate (the
            token's anno claim names the flag, and the API decides) or ignore.
            -setEnvironment takes flag and action as two words or as FLAG=ACTION,
            and may be repeated for other flags. Running authorities apply a
            change within a second.

            Examples:
            approov policy
            approov policy -setRejectionReasons on
            approov policy -setAudience off
            approov policy -setIssuer on -setSubject on
            approov policy -setInstallPubKey off
            approov policy -setDevelopmentKey on
            approov policy -setEnvironment root reject
            approov policy -setEnvironment root=reject -setEnvironment debugger=ignore
            """)

    /// The flags that may be set; every other reason rejects under every policy.
    private static let flags = RejectionReason.environmentFlags

    @Option(
        name: .dash("setRejectionReasons"),
        help: ArgumentHelp("Whether results tell apps why their attestation failed.", valueName: "on|off"))
    var setRejectionReasons: Switch?

    @Option(name: .dash("setAudience"), help: ArgumentHelp("Whether tokens name their host in the aud claim.", valueName: "on|off"))
    var setAudience: Switch?

    @Option(name: .dash("setIssuer"), help: ArgumentHelp("Whether tokens name the account in the iss claim.", valueName: "on|off"))
    var setIssuer: Switch?

    @Option(name: .dash("setSubject"), help: ArgumentHelp("Whether tokens name the device in the sub claim.", valueName: "on|off"))
    var setSubject: Switch?

    @Option(
        name: .dash("setInstallPubKey"),
        help: ArgumentHelp("Whether tokens have the app's public key in the ipk claim.", valueName: "on|off"))
    var setInstallPubKey: Switch?

    @Option(
        name: .dash("setDevelopmentKey"),
        help: ArgumentHelp("Whether the development key lets builds pass that are not registered.", valueName: "on|off"))
    var setDevelopmentKey: Switch?

    @Option(
        name: .dash("setEnvironment"), parsing: .upToNextOption,
        help: ArgumentHelp("Set the action for a flag of the app's environment. Repeatable.", valueName: "flag reject|annotate|ignore"))
    var setEnvironment: [String] = []

    @Flag(name: .dash("show"), help: "Show the policy. Every change shows it too.")
    var show = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws { _ = try environmentChanges() }

    func run() async throws {
        let switches = [setRejectionReasons, setAudience, setIssuer, setSubject, setInstallPubKey, setDevelopmentKey]
        let isChange = switches.contains { $0 != nil } || !setEnvironment.isEmpty
        let store = try store.open(isChange ? .making : .reading)
        if isChange {
            // In one transaction: a running authority applies all of it at once, or none.
            try await store.changePolicy(
                PolicyChange(
                    rejectionReasons: setRejectionReasons.map { $0 == .on }, audience: setAudience.map { $0 == .on },
                    issuer: setIssuer.map { $0 == .on }, subject: setSubject.map { $0 == .on },
                    installationKey: setInstallPubKey.map { $0 == .on }, acceptsDevelopmentKey: setDevelopmentKey.map { $0 == .on },
                    environment: Dictionary(uniqueKeysWithValues: environmentChanges().map { ($0.flag, $0.action) })))
        }
        try printPolicy(of: store)
    }

    /// Reads each flag with its action, which is the next word or follows after `=`.
    private func environmentChanges() throws -> [(flag: RejectionReason, action: EnvironmentAction)] {
        var changes: [(flag: RejectionReason, action: EnvironmentAction)] = []
        var words = setEnvironment.flatMap { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }[...]
        while let name = words.popFirst() {
            guard let flag = Self.flags.first(where: { $0.rawValue == name }),
                let action = words.popFirst().flatMap({ EnvironmentAction(rawValue: String($0)) })
            else {
                throw ValidationError(
                    "-setEnvironment needs one of \(Self.flags.map(\.rawValue).joined(separator: ", ")), then reject, annotate or ignore.")
            }
            guard !changes.contains(where: { $0.flag == flag }) else {
                throw ValidationError("-setEnvironment names \(flag.rawValue) twice; name each flag once.")
            }
            changes.append((flag, action))
        }
        return changes
    }

    private struct Policy: Encodable {
        let rejectionReasons: Bool
        let audience: Bool
        let issuer: Bool
        let subject: Bool
        let installPubKey: Bool
        let developmentKey: Bool
        let environment: [String: String]
    }

    private func printPolicy(of store: AuthorityStore) throws {
        let actions = Self.flags.map { ($0.rawValue, store.environmentAction(for: $0).rawValue) }
        if output.json {
            try Console.json(
                Policy(
                    rejectionReasons: store.rejectionReasons, audience: store.namesAudience, issuer: store.namesIssuer,
                    subject: store.namesSubject, installPubKey: store.includesInstallationKey, developmentKey: store.acceptsDevelopmentKey,
                    environment: Dictionary(uniqueKeysWithValues: actions)))
        } else {
            let switches = [
                ("rejectionReasons", store.rejectionReasons), ("audience", store.namesAudience), ("issuer", store.namesIssuer),
                ("subject", store.namesSubject), ("installPubKey", store.includesInstallationKey),
                ("developmentKey", store.acceptsDevelopmentKey),
            ]
            for (name, isOn) in switches { Console.line("\(name)  \(isOn ? "on" : "off")") }
            for (flag, action) in actions { Console.line("\(flag)  \(action)") }
        }
    }
}
