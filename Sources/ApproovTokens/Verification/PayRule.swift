/// What is asked of a token's binding.
///
/// The values are those of every field line of the binding header, as received; outer spaces and tabs do not count. More than one line
/// is refused under either rule, since nobody can say which one the app meant.
public enum PayRule: Sendable {
    /// The binding is not looked at.
    case ignored
    /// A bound token must be bound to the one value; an unbound token passes.
    case optional([String])
    /// The token must be bound to the one value.
    case required([String])
}
