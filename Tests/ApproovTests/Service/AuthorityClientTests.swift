import Attestation
import Testing

@testable import Approov

@Suite struct AuthorityClientTests {
    @Test("evidence names the version of the package")
    func version() {
        #expect(AuthorityClient.sdkVersion == ApproovVersion.current)
    }
}
