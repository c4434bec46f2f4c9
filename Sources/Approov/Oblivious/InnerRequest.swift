import ApproovBase
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes

extension HTTPRequest {
    /// What the gateway learns: the request as it would have gone to the host itself, but for a response that is not encoded.
    ///
    /// - Parameters:
    ///   - request: The request to the host.
    ///   - date: When it is sent, for the gateway's replay window (RFC 9458 section 6.5); a date of the caller's own stays.
    ///   - contentLength: The bytes of its content, where the message around it does not say them and the host is to know.
    init(inside request: TransportRequest, date: Date, contentLength: Int? = nil) {
        var fields = request.headerFields
        // The transport's own, as on the way straight to the host.
        fields.removeAll { $0.name == .contentLength || $0.name.canonicalName == "host" }
        if let contentLength { fields[.contentLength] = String(contentLength) }
        // On the way straight to the host the transport offers what it can undo; nobody undoes anything here.
        if !fields.contains(.acceptEncoding) { fields.append(HTTPField(name: .acceptEncoding, value: "identity")) }
        if !fields.contains(.date) { fields.append(HTTPField(name: .date, value: HTTPDate.format(date))) }
        let url = request.url
        self.init(
            method: request.method, scheme: url.isSecure ? "https" : "http", authority: url.authority, path: url.target,
            headerFields: fields)
    }
}
