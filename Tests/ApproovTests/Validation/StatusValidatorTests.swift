import Approov
import Foundation
import Testing

@Suite struct StatusValidatorTests {
    @Test(
        "Statuses within the range are accepted, and all others are refused with their number", arguments: [199, 200, 299, 300, 404, 503])
    func range(_ status: Int) throws {
        let refusal = refusal(by: .status(200..<300), of: try head(status), body: Data())
        #expect(refusal?.code == ((200..<300).contains(status) ? nil : .responseRefused))
        #expect(refusal?.message.contains("\(status)") ?? true)
    }
}
