/// Stores the configuration in force, so that the app starts with it next time.
///
/// ``FileConfigurationStore`` is the default. The service verifies every signature again when it reads the configuration back, so a store
/// must keep the bytes intact but not secret. The service makes one call at a time, on a thread that may block.
public protocol ConfigurationStore: Sendable {
    /// Returns the bytes stored last; nil if nothing was stored or it was set aside.
    ///
    /// - Throws: Any error, when bytes may be stored but cannot be read.
    func read() throws -> [UInt8]?

    /// Replaces the stored bytes.
    ///
    /// - Parameter bytes: The bytes that ``read()`` must return from now on.
    /// - Throws: Any error, when the bytes may not survive. The previous bytes must then still be stored.
    func store(_ bytes: [UInt8]) throws

    /// Moves stored bytes that did not verify out of the way, so that a person can examine them.
    ///
    /// - Throws: Any error, when the bytes could not be moved.
    func setAside() throws

    /// Runs `body` while no other process reads or stores in the same place.
    ///
    /// - Parameter body: The work to do.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`, or an error of the store when exclusive access was not granted in time.
    func withExclusiveAccess<Result>(_ body: () throws -> Result) throws -> Result

    /// Runs `body` while no other process reads or stores in the same place, but never waits for another process.
    ///
    /// - Parameter body: The work to do.
    /// - Returns: The result of `body`; nil, without running it, if another process has access now.
    /// - Throws: The error of `body`, or an error of the store when exclusive access is impossible.
    func withExclusiveAccessIfFree<Result>(_ body: () throws -> Result) throws -> Result?

    /// Cleans up after killed processes and corrects file permissions.
    ///
    /// The service calls it once at its start, after it has read the stored configuration.
    ///
    /// - Returns: Findings for the operator, each with what was done or remains to be done; safe to log.
    func tidy() -> [String]
}

extension ConfigurationStore {
    /// Runs `body` at once, which suits a store used by one process only.
    ///
    /// - Parameter body: The work to do.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    public func withExclusiveAccess<Result>(_ body: () throws -> Result) throws -> Result { try body() }

    /// Runs `body` through ``withExclusiveAccess(_:)``.
    ///
    /// A store whose ``withExclusiveAccess(_:)`` can wait should implement this method too.
    ///
    /// - Parameter body: The work to do.
    /// - Returns: The result of `body`.
    /// - Throws: The error of ``withExclusiveAccess(_:)``.
    public func withExclusiveAccessIfFree<Result>(_ body: () throws -> Result) throws -> Result? { try withExclusiveAccess(body) }

    /// Does nothing and returns no findings.
    public func tidy() -> [String] { [] }
}
