/// Whether a value of a body is redacted, and why.
enum Secrecy {
    case none
    /// It is within a secret object or element, and may be anything: it is not looked for elsewhere.
    case inherited
    /// Its own name says so, or the label beside it.
    case own
}
