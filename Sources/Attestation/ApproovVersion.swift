/// The version of this package: what evidence, the command line and the servers say.
package enum ApproovVersion {
    /// The newest entry of CHANGELOG.md has the same.
    package static let current = "0.2.0"
}
