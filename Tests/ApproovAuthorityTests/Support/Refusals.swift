import ApproovAuthority
import ApproovTesting
import Testing

/// Expects `body` to throw an `AuthorityError` with the given code.
func refuses(
    _ code: AuthorityError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
    #expect(await codeThrown(as: AuthorityError.self, by: body) == code, sourceLocation: sourceLocation)
}
