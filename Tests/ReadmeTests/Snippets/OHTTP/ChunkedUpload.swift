import Foundation
import HTTPTypes
import OHTTP

func upload(
    _ parts: some AsyncSequence<Data, any Error>, head: HTTPRequest, sealedTo configuration: KeyConfiguration,
    send: ([UInt8]) async throws -> Void
) async throws -> ChunkedResponseOpener {
    let request = try configuration.chunkedRequest()
    var sealer = request.sealer
    let response = request.response
    var encoder = BinaryHTTPRequestEncoder()
    try await send(sealer.seal(encoder.head(head)))
    for try await part in parts {
        try await send(sealer.seal(encoder.body(part)))
    }
    try await send(sealer.finish(encoder.end(padding: .sizeClasses)))
    return response
}
