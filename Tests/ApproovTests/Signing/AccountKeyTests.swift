import Attestation
import Testing

@testable import Approov

@Suite struct AccountKeyTests {
    private func key(_ id: String) throws -> MessageSigningKey { try MessageSigningKey(id: id, key: [UInt8](repeating: 7, count: 32)) }

    @Test("The key of the attestation that began last counts, whichever answer arrives last")
    func order() throws {
        let account = AccountKey()
        #expect(!account.isTold && account.value == nil)
        account.note(try key("new"), since: .seconds(2))
        account.note(try key("old"), since: .seconds(1))
        #expect(account.value?.id == "new")
        account.note(nil, since: .seconds(3))
        #expect(account.isTold && account.value == nil)
    }
}
