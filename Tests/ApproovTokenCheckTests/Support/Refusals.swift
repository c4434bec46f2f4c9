import ApproovTesting
import ApproovTokenCheck
import Testing

/// Expects `body` to throw a `TokenCheckError` with this code.
func refuses(
    _ code: TokenCheckError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
    #expect(await codeThrown(as: TokenCheckError.self, by: body) == code, sourceLocation: sourceLocation)
}
