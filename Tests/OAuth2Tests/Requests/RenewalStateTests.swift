import Testing

@testable import OAuth2

@Suite struct RenewalStateTests {
    private let (alice, bob, carol): (BearerToken, BearerToken, BearerToken)

    init() throws { (alice, bob, carol) = (try Samples.token("alice"), try Samples.token("bob"), try Samples.token("carol")) }

    /// A state whose user is Alice.
    private var state: RenewalState {
        var state = RenewalState()
        state.logIn(alice)
        return state
    }

    @Test("Each request that finds another process's user waits for the one change, until the user is published")
    func joined() {
        var state = state
        let before = state.changes
        var numbers: [Int] = []
        for _ in 0..<2 {
            let change = state.change(to: bob, readAfter: before) { number in
                numbers.append(number)
                return Task {}
            }
            #expect(change != nil)
        }
        #expect(numbers.count == 1)
        for number in numbers { state.publish(number) }
        #expect(state.changes == before + 1)
        for moment in [before, state.changes] { #expect(state.change(to: bob, readAfter: moment) { _ in Task {} } == nil) }
    }

    @Test("A log-in of this process waits for a change that another process caused, which then publishes no user")
    func overtaken() {
        var state = state
        var numbers: [Int] = []
        _ = state.change(to: bob, readAfter: state.changes) { number in
            numbers.append(number)
            return Task {}
        }
        #expect(state.beginChange() != nil)
        #expect(state.change(to: carol, readAfter: state.changes) { _ in Task {} } == nil)
        for number in numbers { state.publish(number) }
        state.logIn(carol)
        state.endChange()
        #expect(state.change(to: carol, readAfter: state.changes) { _ in Task {} } == nil)
        #expect(state.change(to: bob, readAfter: state.changes) { _ in Task {} } != nil)
    }

    @Test("Of two changes that other processes caused, the later one publishes its user")
    func later() {
        var state = state
        var numbers: [Int] = []
        for token in [bob, carol] {
            _ = state.change(to: token, readAfter: state.changes) { number in
                numbers.append(number)
                return Task {}
            }
        }
        #expect(numbers.count == 2)
        for number in numbers.reversed() { state.publish(number) }
        #expect(state.change(to: carol, readAfter: state.changes) { _ in Task {} } == nil)
    }

    @Test("A log-out takes no other user's token that the store did not take")
    func unsaved() throws {
        var state = state
        let renewed = try Samples.token("renewed").succeeding(bob)
        state.keep(renewed, over: bob)
        #expect(state.takeUnsaved(of: alice.loginID) == nil)
        #expect(state.takeUnsaved(of: bob.loginID)?.token == renewed)
        #expect(state.takeUnsaved() == nil)
    }
}
