import CertificatePinning
import Foundation
import FoundationNetworking
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
        #expect(!ApproovError(.timedOut, "").isRetryable)
        #expect(ApproovError(.timedOut, "", isRetryable: true).isRetryable)
    }

    @Test("a failure of the transport is worth another try only when that cannot execute the request twice")
    func repeatable() throws {
        for code in [TransportError.Code.idleTimeout, .totalTimeout, .connectionLost, .connectTimeout, .connectionFailed] {
            let expected: ApproovError.Code = [.idleTimeout, .totalTimeout].contains(code) ? .timedOut : .networkingError
            for isSafe in [true, false] {
                let error = ApproovError(TransportError(code, "", isSafeToRepeat: isSafe))
                #expect(error.code == expected && error.isRetryable == isSafe)
                // Who knows the whole request knows better.
                #expect(ApproovError(TransportError(code, "", isSafeToRepeat: isSafe), isRepeatable: !isSafe).isRetryable == !isSafe)
            }
        }
        #expect(ApproovError(TransportError(.connectTimeout, "")).isRetryable, "nothing was sent")
        #expect(!ApproovError(TransportError(.connectionLost, "")).isRetryable)
        #expect(!ApproovError(TransportError(.trustRefused, "", isSafeToRepeat: true)).isRetryable, "it fails the same way again")
        for (method, isIdempotent) in [("GET", true), ("PUT", true), ("DELETE", true), ("POST", false), ("PATCH", false), ("x y", false)] {
            var request = URLRequest(url: try #require(URL(string: "https://api.test/")))
            request.httpMethod = method
            #expect(request.isIdempotent == isIdempotent)
        }
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
        #expect((refusal.asApproovError() as? ApproovError)?.refusal?.reason == .pinMismatch)
        #expect(ApproovError(.pinningError, "").refusal == nil)
    }

    @Test("cancellation stays what it is, and an error of the SDK is not wrapped twice")
    func asApproovError() {
        #expect(CancellationError().asApproovError() is CancellationError)
        let own = ApproovError(.bindingMissing, "")
        #expect((own.asApproovError() as? ApproovError)?.code == .bindingMissing)
        let foreign = CocoaError(.fileNoSuchFile).asApproovError() as? ApproovError
        #expect(foreign?.code == .permanentError)
        #expect(foreign?.cause is CocoaError)
    }

    @Test("localizedDescription says what the description says")
    func localized() {
        let error: any Error = ApproovError(.networkingError, "the authority does not answer; try again")
        #expect(error.localizedDescription == "\(error)")
    }
}
