import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStorePolicyTests {
    @Test("Several settings are changed together in one change of the store, and the others stay")
    func together() async throws {
        let account = try await AuthorityBench()
        let store = account.store
        let generation = store.snapshot.generation
        try await store.changePolicy(
            PolicyChange(
                rejectionReasons: true, audience: false, subject: true, acceptsDevelopmentKey: true,
                environment: [.root: .reject, .debugger: .ignore]))
        #expect(store.snapshot.generation == generation + 1)
        #expect(store.rejectionReasons && !store.namesAudience && store.namesSubject && store.acceptsDevelopmentKey)
        #expect(store.developmentKey != nil)
        #expect(!store.namesIssuer && store.includesInstallationKey)
        #expect(store.environmentAction(for: .root) == .reject && store.environmentAction(for: .debugger) == .ignore)
        #expect(store.environmentAction(for: .preload) == .reject)
        try await store.changePolicy(PolicyChange(issuer: true, installationKey: false))
        #expect(store.namesIssuer && !store.includesInstallationKey && store.rejectionReasons)
    }

    @Test("A change with an action for a reason that always rejects changes nothing")
    func refused() async throws {
        let account = try await AuthorityBench()
        let store = account.store
        let generation = store.snapshot.generation
        for reason in [RejectionReason.appNotRegistered, .alwaysFail] {
            await refuses(.unsupported) {
                try await store.changePolicy(PolicyChange(rejectionReasons: true, environment: [.root: .reject, reason: .ignore]))
            }
        }
        #expect(store.snapshot.generation == generation && !store.rejectionReasons)
    }
}
