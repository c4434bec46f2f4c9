internal import CLibPSL

/// The public suffix list (publicsuffix.org) that libpsl was built with: names below which hosts belong to different people.
enum PublicSuffixes {
    /// Whether hosts below the name belong to different people: `co.uk` by the ICANN section, `github.io` by the private one.
    ///
    /// A name of one label is a public suffix (the list's rule `*`). Deeper names that no rule is for are not, so that names of one's own
    /// network (`corp.internal`) and for tests (`demo.localhost`) may be patterns.
    /// - Returns: nil when this libpsl has no list.
    static func contains(_ name: String) -> Bool? {
        guard name.contains(".") else { return true }
        guard let list = psl_builtin() else { return nil }
        return psl_is_public_suffix2(list, name, PSL_TYPE_ICANN | PSL_TYPE_PRIVATE | PSL_TYPE_NO_STAR_RULE) == 1
    }
}
