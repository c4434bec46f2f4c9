import Attestation

/// Reads and verifies the stored configuration, and says why it cannot be used.
enum StoredConfiguration {
    /// The stored configuration comes from an app with another initial configuration, or claims to.
    struct ForeignConfiguration: Error {
        let bytes: [UInt8]
        /// Whether a key of this app's initial configuration signed it.
        let isProven: Bool
        let cause: any Error
    }

    /// Why the stored configuration cannot be used at a start.
    struct Flaw {
        let error: any Error
        /// The result of setting it aside; nil if it was left in place.
        let settingAside: Result<Void, any Error>?

        var leftInPlace: [UInt8]? { (error as? ForeignConfiguration)?.bytes }
    }

    /// Returns the configuration to start with, or why the stored one cannot be used; both nil if nothing is stored.
    static func beginning(
        with store: any ConfigurationStore, initial: InitialConfiguration
    ) -> (configuration: ConfigurationState?, flaw: Flaw?) {
        do {
            return (try read(from: store, initial: initial), nil)
        } catch  where staysInPlace(error) {
            return (nil, Flaw(error: error, settingAside: nil))
        } catch {
            do {
                return try store.withExclusiveAccess {
                    // Read again: another process may have stored a valid configuration meanwhile, which must not be set aside.
                    do {
                        return (try read(from: store, initial: initial), nil)
                    } catch  where staysInPlace(error) {
                        return (nil, Flaw(error: error, settingAside: nil))
                    } catch {
                        return (nil, Flaw(error: error, settingAside: Result { try store.setAside() }))
                    }
                }
            } catch let unavailable {
                return (nil, Flaw(error: error, settingAside: .failure(unavailable)))
            }
        }
    }

    /// Reads and verifies the stored configuration; nil if nothing is stored.
    ///
    /// - Throws: ``ForeignConfiguration``, or the error of the store or of the verification.
    static func read(from store: any ConfigurationStore, initial: InitialConfiguration) throws -> ConfigurationState? {
        try store.read().map { try restore($0, initial: initial) }
    }

    /// Verifies stored bytes.
    ///
    /// - Throws: ``ForeignConfiguration``, or the error of the verification.
    static func restore(_ bytes: [UInt8], initial: InitialConfiguration) throws -> ConfigurationState {
        do {
            return try ConfigurationState(initial: initial, restoring: bytes) { try ConfigurationSnapshot.check($0, initial: initial) }
        } catch {
            switch ConfigurationState.origin(ofStored: bytes, initial: initial) {
            case .unknown: throw error
            case .saidToBeAnotherApp: throw ForeignConfiguration(bytes: bytes, isProven: false, cause: error)
            case .anotherApp: throw ForeignConfiguration(bytes: bytes, isProven: true, cause: error)
            }
        }
    }

    /// Whether the file could not be read just now (too few descriptors, a disk error), which says nothing about its content.
    static func isUnreadable(_ error: any Error) -> Bool { (error as? FileError)?.code == .fileUnreadable }

    /// Whether the stored configuration must be left in place.
    private static func staysInPlace(_ error: any Error) -> Bool { isUnreadable(error) || error is ForeignConfiguration }
}
