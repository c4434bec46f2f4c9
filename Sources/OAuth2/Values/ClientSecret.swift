/// A client's secret, which descriptions and reflections do not show.
public struct ClientSecret: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let text: String

    /// Wraps a secret.
    ///
    /// - Parameter text: The secret, as the server issued it.
    public init(_ text: String) { self.text = text }

    /// Always "(secret)".
    public var description: String { "(secret)" }

    /// Always "(secret)".
    public var debugDescription: String { description }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
