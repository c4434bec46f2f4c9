package import ApproovBase

/// Returns the code of the error that `body` throws.
///
///     #expect(code(as: TokenError.self) { try verifier.verify(token) } == .expired)
///
/// - Parameters:
///   - type: The expected type of the error.
///   - body: The code to run.
/// - Returns: The code; nil when `body` throws nothing or an error of another type.
package func code<Failure: CodedError, Result>(as type: Failure.Type, by body: () throws -> Result) -> Failure.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? Failure)?.code
    }
}

/// Returns the code of the error that asynchronous code throws.
///
/// It has another name, because the compiler would take it for synchronous code, too.
/// - Parameters:
///   - type: The expected type of the error.
///   - body: The code to run.
/// - Returns: The code; nil when `body` throws nothing or an error of another type.
nonisolated(nonsending) package func codeThrown<Failure: CodedError, Result>(
    as type: Failure.Type, by body: nonisolated(nonsending) () async throws -> Result
) async -> Failure.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? Failure)?.code
    }
}
