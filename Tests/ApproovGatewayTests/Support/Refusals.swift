import ApproovGateway
import ApproovTesting
import Testing

/// Expects `body` to throw a `GatewayError` with the given code.
func refuses(
    _ code: GatewayError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
    #expect(await codeThrown(as: GatewayError.self, by: body) == code, sourceLocation: sourceLocation)
}
