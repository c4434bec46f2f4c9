/// What the operator decided about a device, whatever its evidence says.
public enum DevicePolicy: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// Measurements and environment flags do not matter: the device gets valid tokens, whose `anno` has `always-pass`.
    ///
    /// The evidence must still have a valid signature and challenge.
    case alwaysPass = "always-pass"
    /// The evidence is rejected.
    case alwaysFail = "always-fail"

    /// The name on the command line and in the store.
    public var description: String { rawValue }
}
