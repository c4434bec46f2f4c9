import ApproovAuthority
import ArgumentParser

/// `approov device`: policies for single devices.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Let a device always pass or always fail, whatever its evidence says.",
        discussion: """
            always-pass is for a developer's device, on which unregistered builds
            or debuggers run. It gets valid tokens whose anno claim has
            always-pass, so that a production API can refuse them. Measurements
            and environment do not matter then; signature and challenge still do.
            always-fail rejects the device: it gets tokens that do not verify.

            A device ID is the did claim of the device's tokens, and the content
            of the file device-id in the app's state folder. latest is the device
            whose attestation the authority judged last. If others use the
            account, name the ID instead, because that device may be theirs.

            With -expireAfter, the policy applies for that long: give for example
            12h or 30d. Adding a device again replaces its policy. -list shows ID,
            policy, date and expiry (if any), the oldest first. A running
            authority applies a change within a second; tokens that were issued
            before stay as they are until they expire.

            Examples:
            approov device -add latest -policy always-pass -expireAfter 30d
            approov device -add 2vm0Dv2pM0mKKNH0kcBHcA== -policy always-fail
            approov device -list
            approov device -remove 2vm0Dv2pM0mKKNH0kcBHcA==
            """)

    enum Policy: String, ExpressibleByArgument, CaseIterable {
        case alwaysPass = "always-pass"
        case alwaysFail = "always-fail"
    }

    @Option(name: .dash("add"), help: ArgumentHelp("Give a device a policy.", valueName: "id|latest"))
    var add: String?

    @Option(name: .dash("policy"), help: ArgumentHelp("With -add: the policy.", valueName: "always-pass|always-fail"))
    var policy: Policy?

    @Option(
        name: .dash("expireAfter"), help: ArgumentHelp("With -add: how long the policy applies, 1s to 3650d.", valueName: "time"),
        transform: TimeSpan.read)
    var expireAfter: TimeSpan?

    @Option(name: .dash("remove"), help: ArgumentHelp("Remove a device's policy.", valueName: "id"))
    var remove: String?

    @Flag(name: .dash("list"), help: "List the devices that have a policy, the oldest first.")
    var list = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    private var verbs: DeviceVerbs {
        DeviceVerbs(store: store, output: output, add: add, expireAfter: expireAfter, remove: remove, list: list)
    }

    func validate() throws {
        try verbs.validate(names: ("-add", "-remove", "-list"))
        guard (add == nil) == (policy == nil) else { throw ValidationError("-add and -policy must be given together.") }
    }

    func run() async throws { try await verbs.run(policy: policy.map { $0 == .alwaysPass ? .alwaysPass : .alwaysFail }) }
}
