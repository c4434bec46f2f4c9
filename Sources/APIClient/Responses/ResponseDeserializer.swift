/// Makes a value from a response, or says why the response is not what was asked for.
public protocol ResponseDeserializer<Value>: Sendable {
    /// What it makes.
    associatedtype Value

    /// The media types to ask for, as the value of the header Accept; nil, the default, for none.
    ///
    /// A header Accept of the request, the client or a rule wins.
    var accept: String? { get }

    /// Makes the value.
    ///
    /// - Parameter response: The response.
    /// - Returns: The value.
    /// - Throws: ``APIError``, which carries the response.
    func value(of response: APIResponse) throws -> Value
}

extension ResponseDeserializer {
    /// Nil: it adds no header Accept to the request.
    public var accept: String? { nil }
}
