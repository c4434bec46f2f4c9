package import ApproovBase

/// Returns the code of the error that `body` throws.
///
/// - Parameters:
///   - type: The expected type of the error.
///   - body: The code to run.
/// - Returns: The code; nil when `body` throws nothing or an error of another type.
package func codeThrown<Failure: CodedError>(as type: Failure.Type, by body: () async throws -> Void) async -> Failure.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? Failure)?.code
    }
}
