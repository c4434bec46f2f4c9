import OAuth2
import Testing

@Suite struct TokenKeyTests {
    @Test("Accounts that look the same but have other bytes have their own tokens")
    func equivalentAccounts() async throws {
        let (composed, decomposed) = (try Samples.key("Zo\u{EB}"), try Samples.key("Zoe\u{308}"))
        #expect(composed != decomposed && composed.text != decomposed.text)
        let again = try Samples.key("Zo\u{EB}")
        #expect(composed == again && composed.hashValue == again.hashValue)
        #expect(try Samples.key("Zo\u{EB}", level: .client) != composed)
        let store = MemoryTokenStore()
        try await store.store(Samples.token(), for: composed)
        #expect(try await store.token(for: decomposed) == nil)
    }
}
