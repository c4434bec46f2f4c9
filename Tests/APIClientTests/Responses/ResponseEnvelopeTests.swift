import APIClient
import Foundation
import FoundationNetworking
import Testing

@Suite struct ResponseEnvelopeTests {
    @Test(
        "A content that reports failure is refused with the server's code and text",
        arguments: ["false", "0", "\"false\"", "\"FALSE\"", "\"0\""])
    func failures(status: String) async throws {
        let response = try APIResponse("{\"status\":\(status),\"code\":500,\"message\":\"try \\u0007later\",\"data\":{\"a\":[1]}}")
        let error = await failure { try ResponseEnvelope().check(response) }
        #expect(error?.code == .refusedByServer && error?.serverCode == "500" && error?.serverMessage == "try ?later")
        #expect(error?.description.contains("later") == false && error?.response?.head.statusCode == 200)
    }

    @Test(
        "A content that reports success, or has no such field, is accepted",
        arguments: [
            #"{"status":true}"#, #"{"status":1}"#, #"{"status":"true"}"#, #"{"status":null}"#, #"{"status":{}}"#, "{}", "[1]", "x", "",
        ])
    func successes(text: String) throws {
        try ResponseEnvelope().check(APIResponse(text))
    }

    @Test("The fields have any names, and the server's text is cut after 256 characters")
    func names() async throws {
        let envelope = ResponseEnvelope(statusField: "ok", codeField: "errno", messageField: "why")
        let response = try APIResponse("{\"ok\":false,\"errno\":\"E7\",\"why\":\"\(String(repeating: "é", count: 1_000))\"}")
        let error = await failure { try envelope.check(response) }
        #expect(error?.serverCode == "E7" && error?.serverMessage == String(repeating: "é", count: 256))
    }
}
