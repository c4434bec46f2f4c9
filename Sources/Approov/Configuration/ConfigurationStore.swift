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

    /// Runs `body` while no other process reads and stores in the same place, and waits for none.
    ///
    /// - Returns: What `body` returns; nil, without running it, when another process has the place now.
    /// - Throws: What `body` throws, or that the place cannot be had for oneself at all.
    func withExclusiveAccessIfFree<Result>(_ body: () throws -> Result) throws -> Result?

    /// Puts in order what a killed process or another user left behind. Called once at a start, after what is stored has been read.
    ///
    /// - Returns: What was found that a person should know of, each with what was done or is to be done; safe to log.
    func tidy() -> [String]
}

extension ConfigurationStore {
    /// Runs `body` at once: for a store that belongs to one process.
    public func withExclusiveAccess<Result>(_ body: () throws -> Result) throws -> Result { try body() }

    /// Runs `body` with ``withExclusiveAccess(_:)``: a store that may wait there should have one that does not.
    public func withExclusiveAccessIfFree<Result>(_ body: () throws -> Result) throws -> Result? { try withExclusiveAccess(body) }

    /// Nothing.
    public func tidy() -> [String] { [] }
}
