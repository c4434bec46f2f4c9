/// What a verifier requires of a token's binding.
///
/// The strings are the values of all field lines of the binding header, as received; leading and trailing spaces and tabs are ignored.
/// Both `optional` and `required` refuse more than one line, because it is unclear which one the app meant.
public enum PayRule: Sendable {
    /// The binding is not checked.
    case ignored
    /// A bound token must match the value; an unbound token passes.
    case optional([String])
    /// The token must be bound and match the value.
    case required([String])
}
