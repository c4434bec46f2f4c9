import Attestation
import Testing

@testable import Approov

@Suite struct AuthorityClientTests {
    @Test("The SDK version in evidence is the package's version")
    func version() {
        #expect(AuthorityClient.sdkVersion == ApproovVersion.current)
    }
}
