/// How long an old secret, or an old message-signing key, stays in use after a change, in seconds.
package enum SecretOverlap {
    /// The default of the command line: one day.
    package static let standard: Int64 = 86_400
    /// The longest overlap: 30 days.
    package static let longest: Int64 = 30 * 86_400
}
