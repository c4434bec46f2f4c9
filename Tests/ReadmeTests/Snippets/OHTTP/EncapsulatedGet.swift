import Foundation
import HTTPTypes
import OHTTP

func get(
    _ path: String, from host: String, gatewayKeys: Data, post: (_ message: Data) async throws -> Data
) async throws -> BinaryHTTPResponse {
    let request = BinaryHTTPRequest(head: HTTPRequest(method: .get, scheme: "https", authority: host, path: path))
    let configuration = try KeyConfigurationList(decoding: gatewayKeys).preferred()
    let sealed = try configuration.encapsulate(request.encoded(padding: .sizeClasses))
    let answer = try await post(sealed.message)
    return try BinaryHTTPResponse(decoding: sealed.response.open(answer))
}
