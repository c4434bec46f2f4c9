import ApproovAuthority
import ArgumentParser
import Attestation

/// What `device`, `forcepass` and `forcefail` do.
struct DeviceVerbs {
    let store: StoreOptions
    let output: OutputOptions
    /// A device ID, or `latest`.
    let add: String?
    let expireAfter: TimeSpan?
    /// A device ID.
    let remove: String?
    let list: Bool

    private static let latest = "latest"

    private struct Entry: Encodable {
        let deviceID: String
        let policy: String
        let addedAt: String
        let expiresAt: String?
    }

    private struct Removal: Encodable {
        let change = "removed"
        let deviceID: String
    }

    /// Checks the options before the store is opened.
    /// - Throws: `ValidationError`, with the names under which the command has the options.
    func validate(names: (add: String, remove: String, list: String)) throws {
        try OneOf.check([names.add: add != nil, names.remove: remove != nil, names.list: list])
        if let add, add != Self.latest { _ = try Self.deviceID(add, of: names.add, orLatest: true) }
        if let remove { _ = try Self.deviceID(remove, of: names.remove, orLatest: false) }
        if let expireAfter {
            guard add != nil else { throw ValidationError("-expireAfter is only valid with \(names.add).") }
            try expireAfter.checkAsExpiry()
        }
    }

    /// Carries out the verb.
    /// - Parameter policy: The policy to give; a device to be removed must have it, and only its devices are listed. Nil for every policy.
    /// - Throws: `CommandFailure` when no attestation has been judged yet; the errors of `AuthorityStore`.
    func run(policy: DevicePolicy?) async throws {
        if let add, let policy {
            let store = try store.open(add == Self.latest ? .changing : .making)
            let deviceID = try await add == Self.latest ? Self.newest(in: store) : DeviceID(base64: add)
            try await store.setDevicePolicy(policy, for: deviceID, expiresAt: expireAfter?.end)
            try show(store.devices.filter { $0.deviceID == deviceID })
        } else if let remove {
            try await store.open(.changing).removeDevicePolicy(policy, of: try DeviceID(base64: remove))
            if output.json { return try Console.json(Removal(deviceID: remove)) }
            Console.line("removed \(remove)")
        } else {
            let devices = try store.open(.reading).devices.filter { policy == nil || $0.policy == policy }
            if devices.isEmpty { Console.note("approov: no devices\(policy.map { " with \($0)" } ?? "") in \(store.path)") }
            try show(devices)
        }
    }

    private static func deviceID(_ text: String, of option: String, orLatest: Bool) throws -> DeviceID {
        guard let deviceID = try? DeviceID(base64: text) else {
            throw ValidationError(
                "\(option) needs a device ID\(orLatest ? " or latest" : ""): the did claim of the device's tokens, 24 characters of base64."
            )
        }
        return deviceID
    }

    private static func newest(in store: AuthorityStore) async throws -> DeviceID {
        guard let newest = try await store.newestAttestation() else {
            throw CommandFailure("no attestation has been judged yet; run the app on the device, then try again")
        }
        // The operator can tell from the time whether it was the device in front of them.
        Console.note("approov: the newest attestation was judged at \(RFC3339.text(newest.judgedAt)), of device \(newest.deviceID)")
        return newest.deviceID
    }

    private func show(_ devices: [AccountDevice]) throws {
        if output.json {
            return try Console.json(
                devices.map {
                    Entry(
                        deviceID: $0.deviceID.base64, policy: $0.policy.rawValue, addedAt: RFC3339.text(seconds: $0.addedAt),
                        expiresAt: $0.expiresAt.map(RFC3339.text(seconds:)))
                })
        }
        for device in devices {
            let expiry = RFC3339.expiry(device.expiresAt).map { "  \($0)" } ?? ""
            Console.line("\(device.deviceID)  \(device.policy)  \(RFC3339.text(seconds: device.addedAt))\(expiry)")
        }
    }
}
