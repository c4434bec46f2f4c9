import ApproovAuthority
import Testing

/// Expects a `AuthorityError` of a code, with a message.
func refuses(
    _ code: AuthorityError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
    do {
        try await body()
        Issue.record("not refused", sourceLocation: sourceLocation)
    } catch let error as AuthorityError {
        #expect(error.code == code, sourceLocation: sourceLocation)
        #expect(!error.message.isEmpty, sourceLocation: sourceLocation)
    } catch {
        Issue.record("refused with \(error)", sourceLocation: sourceLocation)
    }
}
