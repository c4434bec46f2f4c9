import CertificatePinning
import Foundation
import HTTPTransport
import HTTPTypes

extension HTTPRequest {
    /// What the gateway learns: the request as it would have gone to the host itself.
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
        if !fields.contains(.date) { fields.append(HTTPField(name: .date, value: HTTPDate.format(date))) }
        let url = request.url
        self.init(
            method: request.method, scheme: url.isSecure ? "https" : "http", authority: url.authority, path: url.target,
            headerFields: fields)
    }
}
