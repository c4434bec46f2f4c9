import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import Testing

@testable import Approov

// Acceptance list: S1.24
@Suite struct ApproovErrorTests {
    @Test("Two errors with the same code are equal, and by default only a networking error is retryable")
    func codes() {
        #expect(ApproovError(.pinningError, "one") == ApproovError(.pinningError, "two"))
        #expect(ApproovError(.pinningError, "one") != ApproovError(.networkingError, "one"))
        #expect(ApproovError(.networkingError, "").isRetryable)
        #expect(!ApproovError(.pinningError, "").isRetryable)
        #expect(!ApproovError(.permanentError, "").isRetryable)
        #expect(!ApproovError(.timedOut, "").isRetryable)
        #expect(ApproovError(.timedOut, "", isRetryable: true).isRetryable)
    }

    @Test("A transport failure is retryable only if a repeat cannot execute the request twice")
    func repeatable() throws {
        for code in [TransportError.Code.idleTimeout, .totalTimeout, .connectionLost, .connectTimeout, .connectionFailed] {
            let expected: ApproovError.Code = [.idleTimeout, .totalTimeout].contains(code) ? .timedOut : .networkingError
            for isSafe in [true, false] {
                let error = ApproovError(TransportError(code, "", isSafeToRepeat: isSafe))
                #expect(error.code == expected && error.isRetryable == isSafe)
                // `isRepeatable` overrides this, because the caller knows the whole request.
                #expect(ApproovError(TransportError(code, "", isSafeToRepeat: isSafe), isRepeatable: !isSafe).isRetryable == !isSafe)
            }
        }
        #expect(ApproovError(TransportError(.connectTimeout, "")).isRetryable, "nothing was sent")
        #expect(!ApproovError(TransportError(.connectionLost, "")).isRetryable)
        #expect(!ApproovError(TransportError(.trustRefused, "", isSafeToRepeat: true)).isRetryable, "it would fail the same way again")
        for (method, isIdempotent) in [("GET", true), ("PUT", true), ("DELETE", true), ("POST", false), ("PATCH", false), ("x y", false)] {
            var request = URLRequest(url: try #require(URL(string: "https://api.test/")))
            request.httpMethod = method
            #expect(request.isIdempotent == isIdempotent)
        }
    }

    @Test("The description consists of code, message and cause")
    func description() {
        let error = ApproovError(.badRequest, "what and why", cause: TransportError(.invalidURL, "the cause"))
        #expect(error.description == "badRequest: what and why (invalidURL: the cause)")
        #expect(ApproovError(.badRequest, "alone").description == "badRequest: alone")
    }

    @Test("`refusal` finds the trust refusal that caused the error, also below a transport error")
    func refusal() {
        let refusal = TrustRefusal(.pinMismatch, host: "api.test", detail: "another key")
        let error = ApproovError(TransportError(.trustRefused, "refused", cause: refusal))
        #expect(error.code == .pinningError)
        #expect(error.refusal?.reason == .pinMismatch)
        #expect((refusal.asApproovError() as? ApproovError)?.refusal?.reason == .pinMismatch)
        // Before, the request may have been sent to a server that was trusted.
        #expect(error.message.contains("the request was not sent to it"))
        #expect(ApproovError(.pinningError, "").refusal == nil)
    }

    @Test("`asApproovError` keeps cancellation and the SDK's own errors, and wraps any other error as a permanent one")
    func asApproovError() {
        #expect(CancellationError().asApproovError() is CancellationError)
        let own = ApproovError(.bindingMissing, "")
        #expect((own.asApproovError() as? ApproovError)?.code == .bindingMissing)
        let foreign = CocoaError(.fileNoSuchFile).asApproovError() as? ApproovError
        #expect(foreign?.code == .permanentError)
        #expect(foreign?.cause is CocoaError)
    }

    @Test("`localizedDescription` equals the description")
    func localized() {
        let error: any Error = ApproovError(.networkingError, "the authority does not answer; try again")
        #expect(error.localizedDescription == "\(error)")
    }
}
