/// The kind of a ``CodedError``: a stable, comparable name.
///
/// A code is a structure with static members, not an enumeration, so that a release can add a code without breaking a caller's switch.
public protocol ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible where RawValue == String {
    /// Makes a code from its name.
    ///
    /// - Parameter rawValue: The name, spelled like the static member.
    init(rawValue: String)
}

extension ErrorCode {
    /// The code's name.
    public var description: String { rawValue }

    package init(_ name: String) { self.init(rawValue: name) }
}
