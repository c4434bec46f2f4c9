/// The version of this package, as reported in evidence, by the command line and by the servers.
package enum ApproovVersion {
    /// Equals the newest entry of CHANGELOG.md.
    package static let current = "0.2.0"
}
