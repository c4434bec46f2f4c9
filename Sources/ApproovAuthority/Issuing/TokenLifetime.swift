/// How long an authority's tokens live, in seconds.
@usableFromInline package enum TokenLifetime {
    /// The default.
    @usableFromInline package static let standard = 300
    /// The lifetimes that an operator may choose.
    package static let allowed: ClosedRange<Int> = 1...86_400
}
