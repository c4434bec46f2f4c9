import ApproovBase
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes

extension HTTPRequest {
    /// Creates the inner request, which the gateway opens and forwards.
    ///
    /// It is the same as a direct request to the host, except that it asks for a response without content encoding.
    ///
    /// - Parameters:
    ///   - request: The request to the host.
    ///   - date: The time of sending, for the gateway's replay window (RFC 9458, section 6.5); a Date that the caller set takes precedence.
    ///   - contentLength: The number of content bytes, if the host must learn it and the message does not state it.
    init(inside request: TransportRequest, date: Date, contentLength: Int? = nil) {
        var fields = request.headerFields
        // The transport sets these two fields, as it does for a direct request.
        fields.removeAll { $0.name == .contentLength || $0.name.canonicalName == "host" }
        if let contentLength { fields[.contentLength] = String(contentLength) }
        // In a direct request, the transport offers the encodings that it can decode. Here it cannot decode the inner response.
        if !fields.contains(.acceptEncoding) { fields.append(HTTPField(name: .acceptEncoding, value: "identity")) }
        if !fields.contains(.date) { fields.append(HTTPField(name: .date, value: HTTPDate.format(date))) }
        let url = request.url
        self.init(
            method: request.method, scheme: url.isSecure ? "https" : "http", authority: url.authority, path: url.target,
            headerFields: fields)
    }
}
