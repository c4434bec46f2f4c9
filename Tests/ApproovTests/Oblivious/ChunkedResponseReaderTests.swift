import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import Testing

@testable import Approov

@Suite("A response in chunks")
struct ChunkedResponseReaderTests {
    private static let mebibyte = 1 << 20

    /// The reader of a response whose body has `body` bytes and whose message has `total` bytes with its padding.
    private func reader(body: Int, total: Int, limit: Int?) throws -> ChunkedResponseReader {
        let key = try GatewayKey(id: 1)
        let request = try key.configuration.chunkedRequest()
        let sealer = request.sealer
        let opener = request.response
        var gateway = try GatewayKeyring([key]).chunkedRequestOpener()
        gateway.append(try sealer.finish())
        while try gateway.next() != nil {}
        _ = try gateway.finish()
        guard let answer = gateway.takeResponse() else { throw OHTTPError(.finished, "there is no response to seal") }
        var message = try BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data(count: body)).encoded()
        message += [UInt8](repeating: 0, count: total - message.count)
        var options = TransferOptions()
        options.maximumBodyBytes = limit
        return ChunkedResponseReader(opener, body: ResponseBody(bytes: try answer.finish(message)), options: options)
    }

    /// The number of bytes in the body that the reader returns.
    private func length(_ reader: ChunkedResponseReader) async throws -> Int {
        _ = try await reader.head()
        var length = 0
        while let part = try await reader.part() { length += part.count }
        return length
    }

    @Test("If the body has a limit, the padded message may be twice as long and have a head, and no longer")
    func limited() async throws {
        let limit = Self.mebibyte
        let longest = ChunkedResponseReader.maximumMessageBytes(forBody: limit)
        #expect(longest == 2 * limit + Self.mebibyte)
        #expect(try await length(reader(body: limit, total: longest, limit: limit)) == limit)
        let tooLong = try reader(body: limit, total: longest + 1, limit: limit)
        #expect(await codeThrown(as: ApproovError.self) { try await length(tooLong) } == .responseTooLarge)
        #expect(try await length(reader(body: limit, total: longest + 1, limit: nil)) == limit)
        #expect(try await length(reader(body: limit, total: longest + 1, limit: .max)) == limit)
    }

    @Test("Without a limit the body may have any length, and the padding may not")
    func unlimited() async throws {
        let length = 4 * Self.mebibyte
        #expect(try await self.length(reader(body: length, total: length + 1_000, limit: nil)) == length)
        let padded = try reader(body: 10, total: length, limit: nil)
        #expect(await codeThrown(as: ApproovError.self) { try await self.length(padded) } == .responseTooLarge)
    }
}
