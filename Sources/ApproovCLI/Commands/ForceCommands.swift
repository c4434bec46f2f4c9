import ApproovAuthority
import ArgumentParser

/// `approov forcepass`: Approov's own name for `approov device` with the policy always-pass.
struct ForcePassCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forcepass",
        abstract: "Let a device always pass: an alias of `approov device -policy always-pass`.",
        discussion: """
            The device gets valid tokens whose anno claim has always-pass, so that
            a production API can refuse them. `approov device --help` says more.

            Examples:
            approov forcepass -addDevice latest -expireAfter 30d
            approov forcepass -listDevices
            approov forcepass -removeDevice 2vm0Dv2pM0mKKNH0kcBHcA==
            """)

    @OptionGroup var options: ForceOptions

    func run() async throws { try await options.verbs.run(policy: .alwaysPass) }
}

/// `approov forcefail`: Approov's own name for `approov device` with the policy always-fail.
struct ForceFailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forcefail",
        abstract: "Let a device always fail: an alias of `approov device -policy always-fail`.",
        discussion: """
            The device gets tokens that do not verify. `approov device --help`
            says more.

            Examples:
            approov forcefail -addDevice 2vm0Dv2pM0mKKNH0kcBHcA==
            approov forcefail -listDevices
            approov forcefail -removeDevice 2vm0Dv2pM0mKKNH0kcBHcA==
            """)

    @OptionGroup var options: ForceOptions

    func run() async throws { try await options.verbs.run(policy: .alwaysFail) }
}

/// The options of `forcepass` and `forcefail`.
struct ForceOptions: ParsableArguments {
    @Option(name: .dash("addDevice"), help: ArgumentHelp("Give a device the policy.", valueName: "id|latest"))
    var addDevice: String?

    @Option(
        name: .dash("expireAfter"), help: ArgumentHelp("With -addDevice: how long the policy applies, 1s to 3650d.", valueName: "time"),
        transform: TimeSpan.read)
    var expireAfter: TimeSpan?

    @Option(name: .dash("removeDevice"), help: ArgumentHelp("Remove the policy from a device that has it.", valueName: "id"))
    var removeDevice: String?

    @Flag(name: .dash("listDevices"), help: "List the devices that have the policy, the oldest first.")
    var listDevices = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    var verbs: DeviceVerbs {
        DeviceVerbs(
            store: store, output: output, add: addDevice, expireAfter: expireAfter, remove: removeDevice, list: listDevices)
    }

    func validate() throws { try verbs.validate(names: ("-addDevice", "-removeDevice", "-listDevices")) }
}
