/// Keeps the configuration in force, so that a restart begins with it.
///
/// ``FileConfigurationStore`` is the default. What is read back is verified again, signature by signature: a store needs to keep
/// bytes whole, not secret. Calls are made one at a time, away from the tasks that requests run in, and may block.
public protocol ConfigurationStore: Sendable {
    /// What was stored last; nil when nothing was, or it was set aside.
    ///
    /// - Throws: When there may be something but it cannot be read.
    func read() throws -> [UInt8]?

    /// Puts `bytes` in the place of what is there.
    ///
    /// - Throws: When it cannot be made sure that they will be read back; what was there before must then still be there.
    func store(_ bytes: [UInt8]) throws

    /// Moves out of the way what was read and did not verify, so that a person can look at it.
    ///
    /// - Throws: When it stays where it is.
    func setAside() throws

    /// Runs `body` while no other process reads and stores in the same place.
    ///
    /// - Throws: What `body` throws, or that the place could not be had for oneself in time.
    func withExclusiveAccess<Result>(_ body: () throws -> Result) throws -> Result
}

extension ConfigurationStore {
    /// Runs `body` at once: for a store that belongs to one process.
    public func withExclusiveAccess<Result>(_ body: () throws -> Result) throws -> Result { try body() }
}
