/// Makes a value from a response, or says why the response is not what was asked for.
public protocol ResponseDeserializer<Value>: Sendable {
    /// What it makes.
    associatedtype Value

    /// Makes the value.
    ///
    /// - Parameter response: The response.
    /// - Returns: The value.
    /// - Throws: ``APIError``, which carries the response.
    func value(of response: APIResponse) throws -> Value
}
