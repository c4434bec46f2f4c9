import Approov
import Foundation
import Testing

// Acceptance list: S3.39
@Suite struct HeaderValidatorTests {
    private let validator = HeaderValidator.headers(success: "success", status: "status", message: "message")

    @Test("A response whose header says that the request failed is refused with the code and the message of the other headers")
    func failure() throws {
        let refusal = try #require(
            refusal(by: validator, of: try head(200, ["success": "false", "status": "17", "message": "sold\tout"]), body: nil))
        #expect(refusal.code == .responseRefused)
        #expect(refusal.serverCode == "17")
        #expect(refusal.serverMessage == "sold\\u{9}out")
        #expect(!refusal.description.contains("sold") && !refusal.description.contains("17"))
    }

    @Test("A response with a header of success, or without the header, is accepted")
    func success() throws {
        #expect(refusal(by: validator, of: try head(200, ["Success": "True"]), body: nil) == nil)
        #expect(refusal(by: validator, of: try head(200, ["status": "17"]), body: nil) == nil)
    }

    @Test("A value that is neither, or that several lines give, is refused", arguments: ["", "no", "true, false", "2"])
    func unclear(_ value: String) throws {
        #expect(refusal(by: validator, of: try head(200, ["success": value]), body: nil)?.code == .responseRefused)
    }
}
