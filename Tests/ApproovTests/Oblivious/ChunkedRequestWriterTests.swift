import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import Testing

@testable import Approov

@Suite("A request sealed in chunks")
struct ChunkedRequestWriterTests {
    private let clock = ManualClock()
    private let key: GatewayKey

    init() throws { key = try GatewayKey(id: 1) }

    private func sealed(_ body: RequestBody) throws -> RequestBody {
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try .system())
        let request = TransportRequest(url: try TransportURL("https://api.test/a"), method: .post, body: body, policy: policy)
        let chunked = try key.configuration.chunkedRequest()
        return try ChunkedRequestWriter(chunked.sealer, time: clock).body(
            of: request, head: HTTPRequest(inside: request, date: clock.date), length: body.length)
    }

    private func lengths(_ body: RequestBody) async throws -> [Int] {
        chunkLengths(of: [UInt8](try await sealed(body).collected(upTo: 64 << 20)), after: 7 + 32)
    }

    @Test(
        "Bodies of nearly the same length give chunks of the same sizes, from memory, a file or a stream",
        arguments: [20_000, 20_001, 20_010])
    func lengths(length: Int) async throws {
        let folder = try TemporaryFolder()
        let bytes = [UInt8](repeating: 1, count: length)
        try Data(bytes).write(to: URL(filePath: folder.path("body")))
        let (stream, source) = AsyncStream.makeStream(of: [UInt8].self)
        for start in stride(from: 0, to: length, by: 3_000) { source.yield(Array(bytes[start..<min(start + 3_000, length)])) }
        source.finish()
        let expected = [16_384 + 16, 4_096 + 16]
        #expect(try await lengths(.bytes(bytes)) == expected)
        #expect(try await lengths(.file(path: folder.path("body"))) == expected)
        #expect(try await lengths(.stream(length: nil, RequestBodyStream(stream))) == expected)
    }

    @Test("A request without a body gives a chunk of the same size as a request with a small body")
    func small() async throws {
        #expect(try await lengths(.none) == [1_024 + 16])
        #expect(try await lengths(.bytes([1, 2, 3])) == [1_024 + 16])
    }

    @Test("A large body is padded to hide its length, and all chunks but the last have the full size")
    func large() async throws {
        let folder = try TemporaryFolder()
        try Data(count: 3_000_000).write(to: URL(filePath: folder.path("body")))
        let lengths = try await lengths(.file(path: folder.path("body")))
        let total = lengths.reduce(0) { $0 + $1 - 16 }
        #expect(total > 3_000_000 && BinaryHTTPPadding.padme.paddedSize(of: total) == total)
        #expect(lengths.dropLast().allSatisfy { $0 == 16_384 + 16 })
    }

    /// The part of the message that a gateway can open so far.
    private func opened(_ parts: [[UInt8]]) throws -> Data {
        var opener = try GatewayKeyring([key]).chunkedRequestOpener()
        for part in parts { opener.append(part) }
        var message = Data()
        while let more = try opener.next() { message += more }
        return message
    }

    @Test("The bytes of a stream are sent when the stream pauses, and not before")
    func pause() async throws {
        let (stream, source) = AsyncStream.makeStream(of: [UInt8].self)
        let body = try sealed(.stream(length: nil, RequestBodyStream(stream)))
        let sent = Shared<[[UInt8]]>([])
        async let sending: Void = body.forEachPart { part in sent.change { $0.append(part) } }
        source.yield([1, 2, 3])
        await clock.sleepers(atLeast: 1)
        #expect(sent.value.isEmpty)
        // The first pause may end before the writer has taken the stream's first part.
        #expect(
            await eventually {
                clock.advance(by: .milliseconds(50))
                return (try? opened(sent.value))?.suffix(4) == Data([3, 1, 2, 3])
            })
        source.yield([4])
        source.finish()
        try await sending

        var opener = try GatewayKeyring([key]).chunkedRequestOpener()
        for part in sent.value { opener.append(part) }
        var message = Data()
        while let more = try opener.next() { message += more }
        message += try opener.finish()
        #expect(try BinaryHTTPRequest(decoding: message).body == Data([1, 2, 3, 4]))
        #expect(message.count == 1_024)
    }

    @Test("Sealing fails if the stream throws, or if its length differs from the declared one")
    func failure() async throws {
        struct Broken: Error {}
        let failing = AsyncThrowingStream<[UInt8], any Error> { $0.finish(throwing: Broken()) }
        await #expect(throws: Broken.self) {
            _ = try await sealed(.stream(length: nil, RequestBodyStream(failing))).collected(upTo: 1 << 20)
        }
        for declared in [2, 4] {
            let (stream, source) = AsyncStream.makeStream(of: [UInt8].self)
            source.yield([1, 2, 3])
            source.finish()
            await #expect(throws: TransportError.self) {
                _ = try await sealed(.stream(length: declared, RequestBodyStream(stream))).collected(upTo: 1 << 20)
            }
        }
    }
}
