package import ApproovBase

/// The code of the error that `body` throws.
///
/// - Parameters:
///   - type: The error's type.
///   - body: What must throw.
/// - Returns: The code; nil when `body` throws nothing or an error of another type.
package func codeThrown<Failure: CodedError>(as type: Failure.Type, by body: () async throws -> Void) async -> Failure.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? Failure)?.code
    }
}
