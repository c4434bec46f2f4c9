import SwiftASN1
import X509

/// The URLs in a certificate at which its revocation can be looked up.
public struct TestRevocation: Sendable {
    /// The URL of an OCSP responder (RFC 5280, section 4.2.2.1).
    public var ocsp: String?
    /// The URL of a CRL (RFC 5280, section 4.2.1.13).
    public var crl: String?
    /// The URL of the issuer's certificate (RFC 5280, section 4.2.2.1).
    ///
    /// It is in the same extension as the responder's URL and has nothing to do with revocation.
    public var issuer: String?
    /// The URLs of a second responder and a second CRL.
    public var second: (ocsp: String?, crl: String?)

    /// Makes the set of URLs; by default it is empty.
    /// - Parameters:
    ///   - ocsp: The URL of an OCSP responder.
    ///   - crl: The URL of a CRL.
    ///   - issuer: The URL of the issuer's certificate.
    ///   - second: The URLs of a second responder and a second CRL.
    public init(ocsp: String? = nil, crl: String? = nil, issuer: String? = nil, second: (ocsp: String?, crl: String?) = (nil, nil)) {
        self.ocsp = ocsp
        self.crl = crl
        self.issuer = issuer
        self.second = second
    }

    func add(to extensions: inout Certificate.Extensions) throws {
        typealias Access = AuthorityInformationAccess.AccessDescription
        let issuers = issuer.map { Access(method: .issuingCA, location: .uniformResourceIdentifier($0)) }
        let responders = [ocsp, second.ocsp].compactMap(\.self).map {
            Access(method: .ocspServer, location: .uniformResourceIdentifier($0))
        }
        let accesses = [issuers].compactMap(\.self) + responders
        if !accesses.isEmpty { try extensions.append(.init(AuthorityInformationAccess(accesses), critical: false)) }
        let lists = [crl, second.crl].compactMap(\.self)
        if !lists.isEmpty {
            var serializer = DER.Serializer()
            let (zero, uri) = (
                ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific), ASN1Identifier(tagWithNumber: 6, tagClass: .contextSpecific)
            )
            serializer.appendConstructedNode(identifier: .sequence) { points in
                for list in lists {
                    points.appendConstructedNode(identifier: .sequence) { point in
                        point.appendConstructedNode(identifier: zero) { name in
                            name.appendConstructedNode(identifier: zero) { fullName in
                                fullName.appendPrimitiveNode(identifier: uri) { $0.append(contentsOf: list.utf8) }
                            }
                        }
                    }
                }
            }
            try extensions.append(.init(oid: [2, 5, 29, 31], critical: false, value: serializer.serializedBytes[...]))
        }
    }
}
