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
    init(inside request: TransportRequest, date: Date) {
        var fields = request.headerFields
        // Both are said by other parts of the message.
        fields.removeAll { $0.name == .contentLength || $0.name.canonicalName == "host" }
        if !fields.contains(.date) { fields.append(HTTPField(name: .date, value: HTTPDate.format(date))) }
        let url = request.url
        let port = url.port == (url.isSecure ? 443 : 80) ? "" : ":\(url.port)"
        self.init(
            method: request.method, scheme: url.isSecure ? "https" : "http", authority: url.host.urlText + port, path: url.target,
            headerFields: fields)
    }
}
