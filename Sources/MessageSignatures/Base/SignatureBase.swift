internal import ApproovBase
internal import Crypto
public import HTTPTypes

/// The bytes that a signature signs (RFC 9421, section 2.5).
public struct SignatureBase: Sendable {
    /// The signature base; its last line has no line end.
    public let bytes: [UInt8]
    /// Where the value of `@signature-params` begins in the bytes.
    private let parametersStart: Int

    /// Makes the base of a message.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - parameters: The covered components and the parameters of the signature.
    ///   - structuredFields: The structured fields that the application knows, for the component parameters `sf` and `key`.
    /// - Throws: ``MessageSignatureError`` with code `duplicateComponent` when a component is covered twice, `missingComponent` when the
    ///   message lacks one, `invalidComponent` when one does not fit the message, `malformedField` when a covered structured field is
    ///   malformed or exceeds the limits of ``StructuredFields`` or a covered field is not ASCII, `invalidMessage` when a covered request
    ///   target is not visible ASCII, `invalidParameter` when a parameter cannot be written.
    public init(
        _ message: SignableMessage, parameters: SignatureParameters, structuredFields: StructuredFields = .known
    ) throws(MessageSignatureError) {
        let components = parameters.components
        var reader = ComponentReader(message, structuredFields: structuredFields)
        var output: [UInt8] = []
        // Room for the usual components of a request with a token, so that the base is one allocation.
        output.reserveCapacity(2_048)
        for (index, component) in components.enumerated() {
            guard !components[..<index].contains(component) else {
                throw MessageSignatureError(.duplicateComponent, "\(LoggableText.name(component.description)) is covered twice")
            }
            let start = output.count
            component.write(to: &output)
            output.append(UInt8(ascii: ":"))
            output.append(UInt8(ascii: " "))
            try reader.write(component, to: &output)
            guard output[start...].allSatisfy({ $0 < 0x80 }) else {
                throw MessageSignatureError(
                    .malformedField,
                    "the covered component \(LoggableText.name(component.description)) is not ASCII (RFC 9421, section 2.5): send the field"
                        + " in ASCII, or leave it out of the session's additionalFields; a program that names its components itself can"
                        + " also cover it with the parameter bs")
            }
            output.append(UInt8(ascii: "\n"))
        }
        output.append(contentsOf: "\"@signature-params\": ".utf8)
        parametersStart = output.count
        // These are ASCII: a parameter that is not cannot be written, and the components were checked above.
        try parameters.write(to: &output)
        bytes = output
    }

    /// The value of `@signature-params`, which is the member of Signature-Input.
    public var signatureParameters: String { String(decoding: bytes[parametersStart...], as: UTF8.self) }

    /// The name of the header field with ``debugDigest``; clients of Approov's own SDK send it when they are debugged.
    public static let debugFieldName = HTTPField.Name(known: "Signature-Base-Digest")

    /// The digest of the base, which shows in debugging whether client and server sign the same bytes.
    public var debugDigest: String {
        "sha-256=:\(Base64.encode(Array(SHA256.hash(data: bytes)))):"
    }
}
