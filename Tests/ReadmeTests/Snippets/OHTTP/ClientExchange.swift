import Foundation
import HTTPTypes
import OHTTP

func post(
    _ body: Data, to url: (host: String, path: String), gatewayKeys: Data, now date: String,
    sendToRelay: (_ message: Data, _ contentType: String) async throws -> Data
) async throws -> BinaryHTTPResponse {
    var head = HTTPRequest(method: .post, scheme: "https", authority: url.host, path: url.path)
    head.headerFields = [.contentType: "application/json", .date: date]
    let request = BinaryHTTPRequest(head: head, body: body)
    let configuration = try KeyConfigurationList(decoding: gatewayKeys).preferred()
    let sealed = try configuration.encapsulate(request.encoded(padding: .sizeClasses))
    let answer = try await sendToRelay(sealed.message, OHTTPMediaType.request)
    return try BinaryHTTPResponse(decoding: sealed.response.open(answer))
}
