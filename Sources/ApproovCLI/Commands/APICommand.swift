import ApproovAuthority
import ArgumentParser
import Attestation
import CertificatePinning
import Foundation

/// `approov api`: the hosts that the account protects.
struct APICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "Add, import, change, check, list and remove the hosts that the account protects.",
        discussion: """
            -add replaces all settings of a host; -pins changes only the options
            given. With -oblivious, requests to the host travel through the relay
            that `approov oblivious` names.

            A host needs at least two pins: first that of its server's key, then
            that of a backup key. A host without pins uses the pins of
            -managedTrustRoots. -list calls the first pin current and the others
            backup. A pin is sha256/ and the base64 of the SHA-256 of a public
            key; see `approov pin -get`. Running authorities apply a change
            within a second; apps learn of it with their next attestation.

            -import reads what `-list --json` prints: a JSON array of objects
            with the members host (its name) and pins (an array). The members
            attested, enforce, oblivious, includeSubdomains (true or false),
            pinsExpireAt (RFC 3339), kid and trustRoots (PEM) are optional;
            addedAt is ignored. It adds the hosts or replaces their settings,
            either all of them or none, in one version of the configuration. It
            keeps the hosts that are not in the file. FILE can be - for standard
            input.

            Examples:
            approov api -add api.example.com -pinFrom server.pem -pinFrom backup.key
            approov api -list
            approov api -list --json > hosts.json
            approov api -import hosts.json
            approov api -check api.example.com --days 14
            approov api -check
            approov api -managedTrustRoots -pinFrom root.pem
            approov api -remove api.example.com

            To sign a host's tokens with a keyset, once its backend knows the key:
            approov api -pins HOST -keySetKID KID

            To change a server's key without an outage:
            approov api -pins HOST -keep -pinFrom new.pem   add the new key
            …wait until apps have it, install the key…
            approov api -check HOST                         check that it matches
            approov api -pins HOST -removePin sha256/…      remove the old key

            If a key was changed too early, use the kill switch: apps then only
            validate the certificate path and report mismatches:
            approov api -pins HOST -enforce off
            """)

    @Option(name: .dash("add"), help: ArgumentHelp("Protect a host, or replace all of its settings.", valueName: "host"))
    var add: String?

    @Option(name: .dash("remove"), help: ArgumentHelp("Stop protecting a host.", valueName: "host"))
    var remove: String?

    @Option(
        name: .dash("import"),
        help: ArgumentHelp("Protect all hosts of a file, or replace all of their settings.", valueName: "file|-"))
    var importFile: String?

    @Flag(name: .dash("list"), help: "List the hosts by name, with the date on which each was added.")
    var list = false

    @Option(
        name: .dash("pins"),
        help: ArgumentHelp("Change a host's pins and settings; without another option, show them.", valueName: "host"))
    var pins: String?

    @Flag(
        name: .dash("check"),
        help: """
            Compare the pins of a host, or of all hosts, with the certificates that are presented now. For an oblivious host, to which no \
            app connects, ask the gateway whether it accepts the published key, and check the relay in the host's place. Exits 1 for \
            present and coming problems.
            """)
    var check = false

    @Argument(help: ArgumentHelp("With -check: the host. Default: all hosts on port 443, the relay on its own.", valueName: "host[:port]"))
    var checkedHost: String?

    @Flag(
        name: .dash("managedTrustRoots"), help: "Change the pins for hosts without pins; without another option, show them.")
    var managedTrustRoots = false

    @Option(
        name: .dash("pin", "pinFrom"),
        help: ArgumentHelp(
            "A pin, or a file whose keys to pin: certificate, CSR, public or private key, PEM or DER. Repeatable.",
            valueName: "sha256/…|file"))
    var pin: [String] = []

    @Flag(name: .dash("keep"), help: "With -pins or -managedTrustRoots: add the given pins and keep the present ones.")
    var keep = false

    @Option(
        name: .dash("removePin"),
        help: ArgumentHelp("With -pins or -managedTrustRoots: remove this pin and keep the others. Repeatable.", valueName: "sha256/…"))
    var removePin: [String] = []

    @Option(
        name: .dash("enforce"),
        help: ArgumentHelp(
            "With -add or -pins: off lets path validation decide, and apps only report mismatches. Default for -add: on.",
            valueName: "on|off"))
    var enforce: Switch?

    @Option(
        name: .dash("pinsExpireAt"),
        help: ArgumentHelp(
            "With -add or -pins: when the pins are due for a change. -check reports it; the pins stay in force.",
            valueName: "RFC 3339|never"))
    var pinsExpireAt: String?

    @Option(
        name: .long,
        help: ArgumentHelp("With -check: how many days to look ahead, 0 to 3650. Default: \(HostCheckRun.defaultDays).", valueName: "days"))
    var days: Int?

    @Option(
        name: .dash("keySetKID"),
        help: ArgumentHelp(
            "With -add or -pins: sign the host's tokens with this keyset. Default for -add: the account secret.", valueName: "kid"))
    var keySetKID: String?

    @Flag(name: .dash("noKeySet"), help: "With -pins: sign the host's tokens with the account secret again.")
    var noKeySet = false

    @Flag(name: .dash("noApproovToken"), help: "With -add: pin the host, but send it no tokens.")
    var noApproovToken = false

    @Flag(name: .dash("oblivious"), help: "With -add or -pins: requests to the host travel inside Oblivious HTTP; see approov oblivious.")
    var oblivious = false

    @Flag(name: .dash("noOblivious"), help: "With -pins: send requests to the host directly again.")
    var noOblivious = false

    @Flag(name: .dash("includeSubdomains"), help: "With -add: apply the settings to all subdomains too.")
    var includeSubdomains = false

    @Option(
        name: .dash("trustRoots"),
        help: ArgumentHelp("With -add or -pins: PEM roots that apps trust for the host, in place of the system's.", valueName: "file"))
    var trustRoots: String?

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try OneOf.check([
            "-add": add != nil, "-import": importFile != nil, "-remove": remove != nil, "-list": list, "-pins": pins != nil,
            "-check": check, "-managedTrustRoots": managedTrustRoots,
        ])
        if checkedHost != nil, !check {
            throw ValidationError(
                "Only -check takes a host on its own. If a word was meant as a value, repeat -pin or -pinFrom before each, and put a value with "
                    + "spaces in quotes.")
        }
        if add == nil, noApproovToken || includeSubdomains {
            throw ValidationError("-noApproovToken and -includeSubdomains are only valid with -add.")
        }
        if oblivious || trustRoots != nil || keySetKID != nil, add == nil, pins == nil {
            throw ValidationError("-oblivious, -trustRoots and -keySetKID are only valid with -add or -pins.")
        }
        if noOblivious, pins == nil || oblivious {
            throw ValidationError("-noOblivious is only valid with -pins, and not together with -oblivious.")
        }
        if noKeySet, pins == nil || keySetKID != nil {
            throw ValidationError("-noKeySet is only valid with -pins, and not together with -keySetKID.")
        }
        let changesPins = pins != nil || managedTrustRoots
        if add == nil, !changesPins, !pin.isEmpty {
            throw ValidationError("-pin and -pinFrom are only valid with -add, -pins or -managedTrustRoots.")
        }
        if !changesPins, keep || !removePin.isEmpty {
            throw ValidationError("-keep and -removePin are only valid with -pins or -managedTrustRoots.")
        }
        if keep, pin.isEmpty { throw ValidationError("-keep needs a pin to add: give -pin or -pinFrom.") }
        if !keep, !removePin.isEmpty, !pin.isEmpty {
            throw ValidationError("Without -keep, -pin and -pinFrom replace all pins, so -removePin has no effect: add -keep.")
        }
        if add == nil, pins == nil, enforce != nil || pinsExpireAt != nil {
            throw ValidationError("-enforce and -pinsExpireAt are only valid with -add or -pins.")
        }
        if let pinsExpireAt, pinsExpireAt != "never", RFC3339.date(pinsExpireAt) == nil {
            throw ValidationError("-pinsExpireAt must be a time in RFC 3339, for example 2027-01-31T12:00:00Z, or never.")
        }
        if let date = pinsExpireAt.flatMap(RFC3339.date), date <= Date() {
            throw ValidationError("-pinsExpireAt is in the past: give the time by which you will change the pins, or never.")
        }
        if let days {
            guard check else { throw ValidationError("--days is only valid with -check.") }
            guard (0...3_650).contains(days) else { throw ValidationError("--days must be 0 to 3650.") }
        }
    }

    func run() async throws {
        let path = store.path
        // Read and check the options before opening the store: a mistake in them must not make one.
        let given = try givenPins()
        let pinChange = try self.pinChange(to: given)
        let roots = try trustRoots.map { try Files.roots(at: $0).pem }
        let settings = HostSettings(
            pins: given, enforce: enforce != .off, attested: !noApproovToken, oblivious: oblivious,
            includeSubdomains: includeSubdomains, pinsExpireAt: expiry, trustRoots: roots, kid: keySetKID)
        if let add { try AuthorityStore.checkNewHost(add, settings: settings) }
        let imported = try importFile.map(HostImport.init(file:))
        if access == .making {
            // A new account has no relay, keyset or managed trust roots that a host could use.
            try await self.store.rehearse { new in
                if let add { try await new.addHost(add, settings: settings) }
                if let imported, let importFile { _ = try await change(imported, from: importFile, in: new) }
                if managedTrustRoots { try await new.updateManagedTrustRoots { $0 = try pinChange($0) } }
            }
        }
        let store = try store.open(access)
        if let add {
            let before = store.hosts
            try await store.addHost(add, settings: settings)
            let replaced = try HostPattern(add).description
            if let old = before.first(where: { $0.name == replaced }) {
                try report("replaced", host: add, noLonger: old.settings.lost(in: settings), in: store)
            } else {
                try report("added", host: add, in: store)
            }
        } else if let imported, let importFile {
            try await take(imported, from: importFile, into: store)
        } else if let remove {
            let hadRelayPins = RelayPins.areMissing(in: store) == false
            try await store.removeHost(remove)
            try report("removed", host: remove, in: store)
            noteCovering(remove, in: store)
            if hadRelayPins { RelayPins.noteIfMissing(in: store) }
        } else if let pins {
            guard changesHost else { return try show(pins, in: store) }
            try await change(pins, pins: pinChange, roots: roots, in: store)
        } else if check {
            let run = HostCheckRun(days: days ?? HostCheckRun.defaultDays, json: output.json, store: store)
            if let checkedHost { try await run.check(checkedHost) } else { try await run.checkAll() }
        } else if managedTrustRoots {
            if changesPins { try await store.updateManagedTrustRoots { $0 = try pinChange($0) } }
            if output.json { return try Console.json(store.managedTrustRoots) }
            for pin in store.managedTrustRoots { Console.line(pin) }
        } else {
            try HostList(store.hosts).show(json: output.json)
            if store.hosts.isEmpty { Console.note("approov: no hosts in \(path)") }
        }
    }

    /// The access to open the store with: changing or removing a host makes no store.
    private var access: StoreAccess {
        if add != nil || importFile != nil { return .making }
        if managedTrustRoots, !changesPins { return .reading }
        if managedTrustRoots { return pin.isEmpty ? .changing : .making }
        if remove != nil { return .changing }
        return pins != nil && changesHost ? .changing : .reading
    }

    private func givenPins() throws -> [String] {
        try pin.flatMap { argument in
            let pins = try PinArgument(argument).pins()
            if pins.count > 1, !managedTrustRoots {
                Console.note(
                    "approov: \(argument) has \(pins.count) keys, and each becomes a pin; if the file has a server's certificate with its CA's, "
                        + "any certificate of that CA for the host now passes: give a file with the server's certificate or key alone")
            }
            return pins
        }.map(\.description)
    }

    private var changesPins: Bool { !(pin.isEmpty && removePin.isEmpty) }

    /// Whether the only given pin takes the place of all others, of which a host must have one as a backup.
    private var replacesPinsByOne: Bool { !keep && pin.count == 1 }

    /// Whether an option asks `-pins` to change something.
    private var changesHost: Bool {
        changesPins || enforce != nil || pinsExpireAt != nil || oblivious || noOblivious || trustRoots != nil || keySetKID != nil
            || noKeySet
    }

    /// The date of -pinsExpireAt; nil for `never`.
    private var expiry: Int64? { pinsExpireAt.flatMap(RFC3339.date).map { Int64($0.timeIntervalSince1970) } }

    /// The change that the options make to a list of pins.
    ///
    /// - Parameter given: The pins of -pin and -pinFrom.
    /// - Returns: The change.
    /// - Throws: An error when a pin of -removePin is malformed.
    private func pinChange(to given: [String]) throws -> @Sendable ([String]) throws -> [String] {
        let list = managedTrustRoots ? "approov api -managedTrustRoots" : "approov api -list"
        let (removed, keeps) = (try removePin.map { try Pin($0, allowingHashOfNothing: true).description }, keep)
        return { present in
            guard keeps || given.isEmpty else { return given }
            for pin in removed where !present.contains(pin) {
                throw CommandFailure("\(pin) is not one of the present pins; see: \(list)")
            }
            return present.filter { !removed.contains($0) } + given.filter { !present.contains($0) }
        }
    }

    /// Prints the entry with this name or pattern; without one, the entry that covers the host, and says so.
    private func show(_ name: String, in store: AuthorityStore) throws {
        let canonical = try HostPattern(name, allowingPublicSuffix: true).description
        if let entry = store.hosts.first(where: { $0.name == canonical }) { return try HostList([entry]).show(json: output.json) }
        guard let covering = entry(covering: name, in: store) else {
            throw CommandFailure("the account has no host \(name); add it: approov api -add \(name) -pinFrom CERTIFICATE -pin BACKUP")
        }
        Console.note("approov: the account has no entry \(canonical); its entry \(covering.name) covers it")
        try HostList([covering]).show(json: output.json)
    }

    /// The entry that covers a host; nil if there is none, and for a pattern.
    private func entry(covering name: String, in store: AuthorityStore) -> AccountHost? { try? store.host(for: name) }

    private func change(
        _ name: String, pins newPins: @escaping @Sendable ([String]) throws -> [String], roots: String?, in store: AuthorityStore
    ) async throws {
        let (enforces, expiry) = (enforce.map { $0 == .on }, expiry)
        let (changesPins, changesExpiry) = (changesPins, pinsExpireAt != nil)
        let route = oblivious ? true : noOblivious ? false : nil
        let (kid, changesKey) = (keySetKID, keySetKID != nil || noKeySet)
        do {
            try await store.updateHost(name) { settings in
                if changesPins { settings.pins = try newPins(settings.pins) }
                if let enforces { settings.enforce = enforces }
                if changesExpiry { settings.pinsExpireAt = expiry }
                if let route { settings.oblivious = route }
                if let roots { settings.trustRoots = roots }
                if changesKey { settings.kid = kid }
            }
        } catch let error as AuthorityError where error.code == .unknownHost {
            guard let covering = entry(covering: name, in: store) else { throw error }
            throw CommandFailure(
                "the account has no entry \(name); its entry \(covering.name) covers it; change that one: "
                    + "approov api -pins '\(covering.name)' …, or add one: approov api -add \(name) …")
        } catch let error as AuthorityError where error.code == .configurationRefused && replacesPinsByOne {
            throw CommandFailure(
                "\(error); without -keep, the given pin replaces the present ones: add -keep to keep them beside it")
        }
        try report("changed", host: name, in: store)
        if enforces == false {
            Console.note(
                "approov: the pins of \(name) are no longer enforced; to enforce them again: approov api -pins \(name) -enforce on")
        }
    }

    /// Says which other entry still covers a removed host.
    private func noteCovering(_ removed: String, in store: AuthorityStore) {
        guard let name = try? CanonicalHost(removed).name, let covering = try? store.host(for: name) else { return }
        Console.note("approov: \(covering.name) still covers \(name), so apps go on with the settings of that entry")
    }

    private struct Import: Encodable {
        let added: Int
        let replaced: Int
        let unchanged: Int
        /// What each replaced host lost, by its name.
        var noLonger: [String: [String]]?
        let configurationVersion: Int64
    }

    private func take(_ hosts: HostImport, from file: String, into store: AuthorityStore) async throws {
        let before = store.hosts
        let result = try await change(hosts, from: file, in: store)
        let version = store.configurationVersion
        let after = Dictionary(store.hosts.map { ($0.name, $0.settings) }) { $1 }
        let lost = before.compactMap { old in
            after[old.name].map { (name: old.name, settings: old.settings.lost(in: $0)) }
        }.filter { !$0.settings.isEmpty }
        if output.json {
            return try Console.json(
                Import(
                    added: result.added, replaced: result.changed, unchanged: result.unchanged,
                    noLonger: lost.isEmpty ? nil : Dictionary(lost) { $1 }, configurationVersion: version))
        }
        Console.line(
            "added \(result.added), replaced \(result.changed), unchanged \(result.unchanged); the configuration is now version \(version)")
        for (name, settings) in lost { Console.line("\(name): no longer: \(settings.joined(separator: ", "))") }
    }

    /// Adds the hosts of a file, or replaces their settings.
    /// - Throws: `CommandFailure` that names the file and the entry.
    private func change(_ hosts: HostImport, from file: String, in store: AuthorityStore) async throws -> BulkChange {
        do {
            return try await store.importHosts(hosts.entries)
        } catch let error as AuthorityError {
            throw CommandFailure("\(Files.inputName(file)): \(error); nothing was imported")
        }
    }

    private struct Change: Encodable {
        let host: String
        let change: String
        var noLonger: [String]?
        let configurationVersion: Int64
    }

    private func report(_ change: String, host: String, noLonger: [String] = [], in store: AuthorityStore) throws {
        let version = store.configurationVersion
        if output.json {
            try Console.json(
                Change(host: host, change: change, noLonger: noLonger.isEmpty ? nil : noLonger, configurationVersion: version))
        } else {
            let lost = noLonger.isEmpty ? "" : "; no longer: \(noLonger.joined(separator: ", "))"
            Console.line("\(change) \(host)\(lost); the configuration is now version \(version)")
        }
    }
}
