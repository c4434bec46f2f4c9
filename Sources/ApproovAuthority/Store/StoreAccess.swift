/// The purpose for which a store is opened.
public enum StoreAccess: Sendable {
    /// Reading: no file is created or changed, and a store of an older release is read in an upgraded copy in memory.
    case reading
    /// Changing an existing store; one of an older release is upgraded.
    case changing
    /// Changing a store, which is created if it does not exist.
    case making
}
