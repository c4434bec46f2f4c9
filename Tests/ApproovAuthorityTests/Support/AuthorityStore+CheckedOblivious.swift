import ApproovAuthority
import Attestation
import OHTTP

extension AuthorityStore {
    /// Sets the relay and the keys with the check that the command line uses.
    func setOblivious(_ settings: ObliviousSettings) async throws {
        try await setOblivious(settings, checkedBy: KeyConfigurationList.checked(published:))
    }
}
