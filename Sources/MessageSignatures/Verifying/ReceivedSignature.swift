internal import ApproovBase
internal import HTTPTypes

/// One signature of a message, as its header fields have it.
///
/// Nothing about it is verified.
struct ReceivedSignature {
    let label: String
    let items: [StructuredFieldReader.Item]
    let parameters: [StructuredFieldReader.Parameter]
    let signature: StructuredFieldReader.BareItem

    /// The text of a parameter that chooses the key; nil if it is not there or has another type.
    func text(of key: String) -> String? {
        for parameter in parameters where parameter.key == key {
            if case .string(let text) = parameter.value { return text }
        }
        return nil
    }

    func has(_ key: String) -> Bool { parameters.contains { $0.key == key } }

    /// The signatures of a message.
    ///
    /// - Throws: ``MessageSignatureError`` with code `missingSignature` when a field is missing or empty, `duplicateName` when a label or a
    ///   parameter occurs twice, `malformedField` when a field is malformed, or the two fields have different labels.
    static func all(in fields: HTTPFields) throws(MessageSignatureError) -> [ReceivedSignature] {
        guard let inputs = try fields.dictionary(MessageSignature.inputFieldName),
            let signatures = try fields.dictionary(MessageSignature.fieldName), !inputs.isEmpty
        else {
            throw MessageSignatureError(.missingSignature, "the message has no Signature-Input with Signature (RFC 9421, section 4)")
        }
        var received: [ReceivedSignature] = []
        received.reserveCapacity(inputs.count)
        for input in inputs {
            guard case .innerList(let items, let parameters) = input.value,
                case .item(let item)? = signatures.first(where: { $0.key == input.key })?.value, item.parameters.isEmpty
            else { throw malformed }
            received.append(ReceivedSignature(label: input.key, items: items, parameters: parameters, signature: item.value))
        }
        guard signatures.count == inputs.count else { throw malformed }
        return received
    }

    private static var malformed: MessageSignatureError {
        MessageSignatureError(
            .malformedField, "Signature-Input and Signature are not signatures with the same labels (RFC 9421, sections 4.1 and 4.2)")
    }
}
