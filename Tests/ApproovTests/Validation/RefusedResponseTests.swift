import Foundation
import FoundationNetworking
import Testing

@testable import Approov

@Suite struct RefusedResponseTests {
    @Test("Neither the description nor a dump of the error contains what the server sent")
    func silent() throws {
        var error = ApproovError.responseRefused("a test", serverCode: "code-secret", serverMessage: "message-secret")
        error.refusedResponse?.head = try head(200, ["X-Value": "header-secret"])
        error.refusedResponse?.body = Data("body-secret".utf8)
        var dumped = ""
        dump(error, to: &dumped)
        for text in [error.description, String(reflecting: error), dumped, "\(String(describing: error.refusedResponse))"] {
            #expect(!text.contains("secret"))
        }
        #expect(error.serverCode == "code-secret" && error.serverMessage == "message-secret")
    }

    @Test("An outcome has the head of a response and of a refused response, and none of another failure")
    func outcome() throws {
        let response = try head(418)
        var error = ApproovError.responseRefused("a test")
        error.refusedResponse?.head = response
        #expect(RequestOutcome.response(response).head?.statusCode == 418)
        #expect(RequestOutcome.failure(error).head?.statusCode == 418)
        #expect(RequestOutcome.failure(ApproovError(.timedOut, "")).head == nil)
        #expect(RequestOutcome.failure(CancellationError()).head == nil)
    }
}
