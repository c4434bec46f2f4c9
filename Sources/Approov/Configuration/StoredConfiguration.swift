import Attestation

/// What a store holds, verified from an initial configuration on, and why it does not serve where it does not.
enum StoredConfiguration {
    /// What is stored was made by an app with another initial configuration, or says so.
    struct Anothers: Error {
        let bytes: [UInt8]
        /// Whether a key of this app's initial configuration signed it.
        let isProven: Bool
        let cause: any Error
    }

    /// Why what is stored does not serve at a start.
    struct Flaw {
        let error: any Error
        /// Whether it was moved out of the way; nil when it was not to be.
        let settingAside: Result<Void, any Error>?

        var leftInPlace: [UInt8]? { (error as? Anothers)?.bytes }
    }

    /// What an app begins with: what is stored, or why it does not serve.
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
                    // Looked at again: another process may have put a sound one in its place meanwhile, which must not be moved away.
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

    /// What is stored; nil when nothing is.
    ///
    /// - Throws: ``Anothers``, or what the store or the verification throws.
    static func read(from store: any ConfigurationStore, initial: InitialConfiguration) throws -> ConfigurationState? {
        try store.read().map { try restore($0, initial: initial) }
    }

    /// The configuration that stored bytes hold.
    ///
    /// - Throws: ``Anothers``, or what the verification throws.
    static func restore(_ bytes: [UInt8], initial: InitialConfiguration) throws -> ConfigurationState {
        do {
            return try ConfigurationState(initial: initial, restoring: bytes) { try ConfigurationSnapshot.check($0, initial: initial) }
        } catch {
            switch ConfigurationState.origin(ofStored: bytes, initial: initial) {
            case .unknown: throw error
            case .saidToBeAnotherApp: throw Anothers(bytes: bytes, isProven: false, cause: error)
            case .anotherApp: throw Anothers(bytes: bytes, isProven: true, cause: error)
            }
        }
    }

    /// Whether the error says nothing about what is stored: a system short of descriptors, or a disk's bad moment.
    static func isUnreadable(_ error: any Error) -> Bool { (error as? FileError)?.code == .fileUnreadable }

    /// Whether what is stored is to stay where it is.
    private static func staysInPlace(_ error: any Error) -> Bool { isUnreadable(error) || error is Anothers }
}
