import Approov
import CertificatePinning
import Testing

@testable import ApproovCLI

@Suite struct CommandFailureCallTests {
    private func failure(
        _ error: any Error, bound: [String] = [], given: [(name: String, value: String)] = []
    ) -> CommandFailure {
        CommandFailure(ofCall: error, bound: bound, given: given)
    }

    @Test("A request without the value that its token is bound to is reported in the words of the command line")
    func binding() {
        let error = ApproovError(.bindingMissing, "exempt the request with unboundRequests")
        let missing = failure(error, bound: ["A", "B"], given: [("a", "secret"), ("B", " ")])
        #expect(
            missing.exitCode == 1 && missing.message?.contains("--bind names B") == true && missing.message?.contains("-H 'B: …'") == true)
        let lost = failure(error, bound: ["A"], given: [("a", "secret")])
        #expect(lost.message?.contains("a redirect to another origin removed a header of --bind") == true)
        for message in [missing.message, lost.message] {
            #expect(message?.contains("unboundRequests") == false && message?.contains("secret") == false)
        }
    }

    @Test("A refused server, refused pins and a lack of roots exit 60, and any other error 1")
    func exitCodes() {
        let noRoot = PinningError(.noAnchors, "none")
        for error in [noRoot, ApproovError(.configurationError, "x", cause: noRoot), ApproovError(.pinningError, "x")] as [any Error] {
            #expect(failure(error).exitCode == 60)
        }
        for error in [PinningError(.malformedCertificate, "x"), ApproovError(.networkingError, "x")] as [any Error] {
            #expect(failure(error).exitCode == 1 && failure(error).message == "\(error)")
        }
    }
}
