import CertificatePinning
import Foundation
import HTTPClient
import Testing

@testable import Approov

@Suite struct ApproovErrorTests {
    @Test("errors are equal by code, and only failures of the network are worth another try")
    func codes() {
        #expect(ApproovError(.pinningError, "one") == ApproovError(.pinningError, "two"))
        #expect(ApproovError(.pinningError, "one") != ApproovError(.networkingError, "one"))
        #expect(ApproovError(.networkingError, "").isRetryable)
        #expect(!ApproovError(.pinningError, "").isRetryable)
        #expect(!ApproovError(.permanentError, "").isRetryable)
    }

    @Test("the description is code, message and cause")
    func description() {
        let error = ApproovError(.badRequest, "what and why", cause: TransportError(.invalidURL, "the cause"))
        #expect(error.description == "badRequest: what and why (invalidURL: the cause)")
        #expect(ApproovError(.badRequest, "alone").description == "badRequest: alone")
    }

    @Test("the refusal of a server is found below the error, however deep the transport put it")
    func refusal() {
        let refusal = TrustRefusal(.pinMismatch, host: "api.test", detail: "another key")
        let error = ApproovError(TransportError(.trustRefused, "refused", cause: refusal))
        #expect(error.code == .pinningError)
        #expect(error.refusal?.reason == .pinMismatch)
        #expect((ApproovError.wrapping(refusal) as? ApproovError)?.refusal?.reason == .pinMismatch)
        #expect(ApproovError(.pinningError, "").refusal == nil)
    }

    @Test("cancellation stays what it is, and an error of the SDK is not wrapped twice")
    func wrapping() {
        #expect(ApproovError.wrapping(CancellationError()) is CancellationError)
        let own = ApproovError(.bindingMissing, "")
        #expect((ApproovError.wrapping(own) as? ApproovError)?.code == .bindingMissing)
        let foreign = ApproovError.wrapping(CocoaError(.fileNoSuchFile)) as? ApproovError
        #expect(foreign?.code == .permanentError)
        #expect(foreign?.cause is CocoaError)
    }

    @Test("localizedDescription says what the description says")
    func localized() {
        let error: any Error = ApproovError(.networkingError, "the authority does not answer; try again")
        #expect(error.localizedDescription == "\(error)")
    }
}
