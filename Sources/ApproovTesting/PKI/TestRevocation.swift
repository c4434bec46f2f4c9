import SwiftASN1
import X509

/// Where a certificate says that its revocation can be looked up.
public struct TestRevocation: Sendable {
    /// The URL of an OCSP responder (RFC 5280, 4.2.2.1).
    public var ocsp: String?
    /// The URL of a CRL (RFC 5280, 4.2.1.13).
    public var crl: String?

    /// Names the places; by default none.
    /// - Parameters:
    ///   - ocsp: The URL of an OCSP responder.
    ///   - crl: The URL of a CRL.
    public init(ocsp: String? = nil, crl: String? = nil) {
        self.ocsp = ocsp
        self.crl = crl
    }

    func add(to extensions: inout Certificate.Extensions) throws {
        if let ocsp {
            let responder = AuthorityInformationAccess.AccessDescription(
                method: .ocspServer, location: .uniformResourceIdentifier(ocsp))
            try extensions.append(.init(AuthorityInformationAccess([responder]), critical: false))
        }
        if let crl {
            var serializer = DER.Serializer()
            let (zero, uri) = (
                ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific), ASN1Identifier(tagWithNumber: 6, tagClass: .contextSpecific)
            )
            serializer.appendConstructedNode(identifier: .sequence) { points in
                points.appendConstructedNode(identifier: .sequence) { point in
                    point.appendConstructedNode(identifier: zero) { name in
                        name.appendConstructedNode(identifier: zero) { fullName in
                            fullName.appendPrimitiveNode(identifier: uri) { $0.append(contentsOf: crl.utf8) }
                        }
                    }
                }
            }
            try extensions.append(.init(oid: [2, 5, 29, 31], critical: false, value: serializer.serializedBytes[...]))
        }
    }
}
