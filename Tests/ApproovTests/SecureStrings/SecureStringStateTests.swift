import Testing

@testable import Approov

@Suite struct SecureStringStateTests {
    private func strings(_ state: inout SecureStringState, at now: Int) -> [String: String]? {
        guard case .genuine(let strings, _) = state.current(now: .seconds(now)) else { return nil }
        return strings
    }

    private func isRejected(_ state: inout SecureStringState, at now: Int) -> Bool {
        guard case .rejected = state.current(now: .seconds(now)) else { return false }
        return true
    }

    private func life(_ since: Int, _ length: Int = 300) -> TokenLife { TokenLife(since: .seconds(since), length: .seconds(length)) }

    private let result = TokenFetchResult(status: .success)

    @Test("Strings live as long as the attestation that brought them, less a margin, and are then forgotten")
    func life() {
        var state = SecureStringState()
        #expect(strings(&state, at: 0) == nil)
        state.note(["a": "1"], of: result, life(10))
        #expect(strings(&state, at: 10) == ["a": "1"])
        #expect(strings(&state, at: 304) == ["a": "1"])
        #expect(strings(&state, at: 305) == nil)
        // The clock of a process never goes back, and what is forgotten stays so.
        #expect(strings(&state, at: 20) == nil)
    }

    @Test("The newest attestation decides, whatever order the answers arrive in")
    func order() {
        var state = SecureStringState()
        state.note(["a": "1"], of: result, life(10))
        state.note(nil, of: result, life(20))
        #expect(isRejected(&state, at: 21) && strings(&state, at: 21) == nil)
        state.note(["a": "late"], of: result, life(15))
        #expect(isRejected(&state, at: 22))
        state.note(["a": "2"], of: result, life(30))
        #expect(strings(&state, at: 31) == ["a": "2"])
        state.note(nil, of: result, life(25))
        #expect(strings(&state, at: 31) == ["a": "2"])
    }

    @Test("A rejection is remembered for half a minute at most, and no longer than its attestation lives")
    func rejection() {
        var state = SecureStringState()
        state.note(nil, of: result, life(0))
        #expect(isRejected(&state, at: 29) && !isRejected(&state, at: 30))
        state.note(nil, of: result, life(100, 10))
        #expect(isRejected(&state, at: 109) && !isRejected(&state, at: 110))
    }
}
