import Testing

@testable import Approov

@Suite struct CredentialOwnersTests {
    @Test("Credentials with the same owner are one user's, and those with another or an unknown owner are not")
    func named() throws {
        var owners = CredentialOwners()
        try owners.note(.bearer("a1", owner: "alice"))
        #expect(try owners.isSame(.bearer("a2", owner: "alice"), asOf: "Bearer a1"))
        #expect(try !owners.isSame(.bearer("b1", owner: "bob"), asOf: "Bearer a1"))
        #expect(try !owners.isSame(.bearer("x"), asOf: "Bearer a1"))
        #expect(try !owners.isSame(.bearer("a2", owner: "alice"), asOf: "Bearer unknown"))
        // The same text can come to belong to another user.
        try owners.note(.bearer("a1", owner: "bob"))
        #expect(try !owners.isSame(.bearer("a2", owner: "alice"), asOf: "Bearer a1"))
    }

    @Test("A credential without an owner shares its user with its renewals alone")
    func unnamed() throws {
        var owners = CredentialOwners()
        let (first, second, third) = try (Credential.bearer("1"), Credential.bearer("2"), Credential.bearer("3"))
        owners.note(first)
        owners.note(second, inPlaceOf: first)
        owners.note(third, inPlaceOf: second)
        #expect(owners.isSame(third, asOf: "Bearer 1") && owners.isSame(first, asOf: "Bearer 3"))
        owners.note(try .bearer("other"))
        #expect(try !owners.isSame(.bearer("other"), asOf: "Bearer 1"))
        #expect(try !owners.isSame(.bearer("unknown"), asOf: "Bearer 1"))
        // A renewal of what was never seen, and one that changes the owner, connect nothing.
        owners.note(third, inPlaceOf: try .bearer("unseen"))
        #expect(try !owners.isSame(.bearer("unseen"), asOf: "Bearer 3"))
        owners.note(try .bearer("4", owner: "bob"), inPlaceOf: third)
        #expect(try !owners.isSame(.bearer("4", owner: "bob"), asOf: "Bearer 3"))
    }

    @Test("Only a bounded number of credentials is remembered, the newest")
    func bounded() throws {
        var owners = CredentialOwners()
        for number in 0...CredentialOwners.maximum { owners.note(try .bearer("\(number)", owner: "alice")) }
        let now = try Credential.bearer("now", owner: "alice")
        #expect(!owners.isSame(now, asOf: "Bearer 0"))
        #expect(owners.isSame(now, asOf: "Bearer 1") && owners.isSame(now, asOf: "Bearer \(CredentialOwners.maximum)"))
    }
}
