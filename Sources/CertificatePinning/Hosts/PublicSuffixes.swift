internal import CLibPSL

/// The public suffix list (publicsuffix.org) built into libpsl: names below which hosts belong to different people.
package enum PublicSuffixes {
    private static let kinds = PSL_TYPE_ICANN | PSL_TYPE_PRIVATE | PSL_TYPE_NO_STAR_RULE

    /// Whether hosts below the name belong to different people: `co.uk` by the ICANN section, `github.io` by the private one.
    ///
    /// A name of one label is always a public suffix (the list's rule `*`). A deeper name without a rule is not, so that patterns can cover
    /// private networks (`corp.internal`) and tests (`demo.localhost`).
    /// - Parameter name: A canonical name.
    /// - Returns: Nil when this libpsl has no list.
    package static func contains(_ name: String) -> Bool? {
        guard name.contains(".") else { return true }
        guard let list = psl_builtin() else { return nil }
        return psl_is_public_suffix2(list, name, kinds) == 1
    }

    /// Whether the host is a public suffix, or one lies between the host and the base.
    ///
    /// `s3.amazonaws.com` separates `evil.s3.amazonaws.com` from `amazonaws.com`: such a host does not belong to the owner of the base. The
    /// list cannot be searched by base, so this is asked for each host and not once for the pattern.
    /// - Parameters:
    ///   - host: A canonical name that ends in a dot and the base.
    ///   - base: A canonical name.
    /// - Returns: Whether they are separated; true when this libpsl has no list.
    package static func part(_ host: String, from base: some StringProtocol) -> Bool {
        guard let list = psl_builtin() else { return true }
        let end = host.utf8.count - base.utf8.count
        return host.withCString { name in
            var label = 0
            while label < end {
                if psl_is_public_suffix2(list, name + label, kinds) == 1 { return true }
                while label < end, name[label] != CChar(UInt8(ascii: ".")) { label += 1 }
                label += 1
            }
            return false
        }
    }
}
