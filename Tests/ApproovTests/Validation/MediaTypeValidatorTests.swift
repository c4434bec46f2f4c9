import Approov
import Foundation
import Testing

@Suite struct MediaTypeValidatorTests {
    @Test(
        "A named type is accepted in any case and with parameters, and so is one of a named family",
        arguments: ["application/json", "Application/JSON; charset=utf-8", "application/json ;x=1", "image/png", "IMAGE/svg+xml"])
    func accepted(_ type: String) throws {
        let validator = MediaTypeValidator.mediaType("Application/json", "image/*")
        #expect(refusal(by: validator, of: try head(200, ["Content-Type": type]), body: Data("{}".utf8)) == nil)
    }

    @Test(
        "Another type is refused, and the server's spelling of it is not part of the error",
        arguments: ["text/html", "application/json5", "application/jsonx", "imagex/png", "; charset=utf-8", "secret-value"])
    func refused(_ type: String) throws {
        let validator = MediaTypeValidator.mediaType("application/json", "image/*")
        let refusal = try #require(refusal(by: validator, of: try head(200, ["Content-Type": type]), body: nil))
        #expect(refusal.code == .responseRefused)
        #expect(!refusal.description.contains(type))
    }

    @Test("Content without a type is refused, and a response without content is accepted")
    func none() throws {
        let validator = MediaTypeValidator.mediaType("application/json")
        #expect(refusal(by: validator, of: try head(), body: Data("{}".utf8))?.code == .responseRefused)
        #expect(refusal(by: validator, of: try head(), body: nil)?.code == .responseRefused)
        #expect(refusal(by: validator, of: try head(), body: Data()) == nil)
        for status in [204, 205, 304] { #expect(refusal(by: validator, of: try head(status), body: nil) == nil) }
    }
}
