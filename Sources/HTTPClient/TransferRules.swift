/// The rules under which a request was prepared.
package protocol TransferRules: AnyObject, Sendable {
    /// Whether no newer rules have replaced them.
    ///
    /// Called on the transport's thread or on the requesting task's, so it must not block.
    var areInForce: Bool { get }
}
