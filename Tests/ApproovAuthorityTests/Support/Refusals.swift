import ApproovTesting
import Testing

import ApproovAuthority

/// Expects `body` to throw a `AuthorityError` of a code.
func refuses(
    _ code: AuthorityError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
    #expect(await codeThrown(as: AuthorityError.self, by: body) == code, sourceLocation: sourceLocation)
}
