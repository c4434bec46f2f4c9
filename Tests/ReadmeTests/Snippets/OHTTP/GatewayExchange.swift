import Foundation
import OHTTP

func answer(
    _ message: Data, with keyring: GatewayKeyring, isReplay: (_ encapsulatedKey: [UInt8]) async -> Bool,
    perform: (BinaryHTTPRequest) async throws -> BinaryHTTPResponse
) async throws -> [UInt8]? {
    let opened = try keyring.decapsulate(message)
    guard await !isReplay(opened.encapsulatedKey) else { return nil }
    let request = try BinaryHTTPRequest(decoding: opened.request)
    let response = try await perform(request)
    return try opened.response.seal(response.encoded(padding: .sizeClasses))
}
