internal import ApproovBase
public import HTTPTypes

/// A signature with its label, as a message carries it (RFC 9421, section 4).
///
///     let signature = try await MessageSignature(
///         signing: .request(request), label: "install", parameters: parameters,
///         with: SignatureSigningKey.ecdsaP256SHA256(key))
///     try signature.add(to: &request.fields)
public struct MessageSignature: Sendable {
    /// The name of the field with the covered components and parameters.
    public static let inputFieldName = HTTPField.Name(known: "Signature-Input")
    /// The name of the field with the signatures.
    public static let fieldName = HTTPField.Name(known: "Signature")

    /// The label, which connects the members of Signature-Input and Signature; it says nothing about the key.
    public let label: String
    /// The signature base that was signed.
    public let base: SignatureBase
    /// The signature.
    public let bytes: [UInt8]

    /// Signs a message.
    ///
    /// - Parameters:
    ///   - message: The message, with every component that the signature covers.
    ///   - label: The label: a lower-case letter or `*`, then lower-case letters, digits, `_`, `-`, `.` and `*`.
    ///   - parameters: The covered components and the parameters. The caller sets `created`; `algorithm` may be nil, and must be the
    ///     signer's if it is set.
    ///   - signer: The key.
    ///   - structuredFields: The structured fields that the application knows, for the component parameters `sf` and `key`.
    /// - Throws: ``MessageSignatureError`` with code `algorithmMismatch` when the parameters name an algorithm that is not the signer's,
    ///   `invalidParameter` when the label cannot be written, and with any code of ``SignatureBase``; and any error of the signer.
    public init(
        signing message: SignableMessage, label: String, parameters: SignatureParameters, with signer: some MessageSigner,
        structuredFields: StructuredFields = .known
    ) async throws {
        guard let first = label.utf8.first, StructuredFieldReader.beginsKey(first),
            label.utf8.allSatisfy(StructuredFieldReader.continuesKey)
        else {
            throw MessageSignatureError(.invalidParameter, "the label cannot be a key of a structured field (RFC 9651, section 3.1.2)")
        }
        guard parameters.algorithm == nil || parameters.algorithm == signer.algorithm.rawValue else {
            throw MessageSignatureError(
                .algorithmMismatch, "the parameters name another algorithm than the signer's, \(signer.algorithm.rawValue)")
        }
        self.label = label
        base = try SignatureBase(message, parameters: parameters, structuredFields: structuredFields)
        bytes = try await signer.sign(base.bytes)
    }

    /// The member of Signature-Input.
    public var inputMember: String { "\(label)=\(base.signatureParameters)" }

    /// The member of Signature.
    public var signatureMember: String { "\(label)=:\(Base64.encode(bytes)):" }

    /// Adds the signature to a message's header fields, after the signatures that are there.
    ///
    /// - Parameter fields: The header fields.
    /// - Throws: ``MessageSignatureError`` with code `duplicateName` when a signature has this label already, and with code
    ///   `malformedField` when the fields are not signatures; the fields are then unchanged.
    public func add(to fields: inout HTTPFields) throws(MessageSignatureError) {
        var changed = fields
        for (name, member) in [(Self.inputFieldName, inputMember), (Self.fieldName, signatureMember)] {
            // A field without a member is no dictionary (RFC 9651, section 3.2), and would make the signature unreadable.
            guard let members = try changed.dictionary(name), !members.isEmpty else {
                changed[name] = member
                continue
            }
            guard !members.contains(where: { $0.key == label }) else {
                throw MessageSignatureError(.duplicateName, "the message has a signature with the label \(label) already")
            }
            // A line without a member, before a comma, would make the joined field unreadable.
            let lines = changed[values: name].filter { !$0.allSatisfy { $0 == " " || $0 == "\t" } }
            changed[name] = (lines + [member]).joined(separator: ", ")
        }
        fields = changed
    }
}
