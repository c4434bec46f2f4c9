import HTTPTypes
import MessageSignatures
import Testing

/// Header fields from names and values, in order.
func fields(_ lines: KeyValuePairs<String, String>) -> HTTPFields {
    var fields = HTTPFields()
    for (name, value) in lines {
        guard let name = HTTPField.Name(name) else {
            Issue.record("\(name) is not a field name")
            continue
        }
        fields.append(HTTPField(name: name, value: value))
    }
    return fields
}

/// A request to sign.
func request(
    _ method: String = "POST", _ target: String = "https://api.example.com/shapes?a=1&b=2",
    _ lines: KeyValuePairs<String, String> = ["Content-Type": "text/plain", "Approov-Token": "token"]
) throws -> SignableRequest {
    try SignableRequest(method: method, target: TargetURI(target), fields: fields(lines))
}

/// The text of a message's signature base.
func baseText(
    _ message: SignableMessage, _ components: [SignatureComponent], structuredFields: StructuredFields = .known
) throws -> String {
    let base = try SignatureBase(message, parameters: SignatureParameters(components), structuredFields: structuredFields)
    return String(decoding: base.bytes, as: UTF8.self)
}

/// The code of the error that is thrown; nil if there is none.
func code(_ body: () throws -> Void) -> MessageSignatureError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? MessageSignatureError)?.code
    }
}
