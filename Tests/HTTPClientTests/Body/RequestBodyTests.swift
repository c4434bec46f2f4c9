import HTTPClient
import Testing

@Suite struct RequestBodyTests {
    private static func stream() -> RequestBody {
        .stream(
            length: nil,
            RequestBodyStream(
                AsyncStream { continuation in
                    continuation.yield(Array("once".utf8))
                    continuation.finish()
                }))
    }

    @Test("A stream can be sent until it has been read; every other body can be sent again")
    func canBeSentAgain() async throws {
        let stream = Self.stream()
        #expect(stream.canBeSentAgain)
        try await stream.forEachPart { #expect($0 == Array("once".utf8)) }
        #expect(!stream.canBeSentAgain)
        let bytes = RequestBody.bytes([1])
        try await bytes.forEachPart { _ in }
        #expect(bytes.canBeSentAgain && RequestBody.none.canBeSentAgain && RequestBody.file(path: "/dev/null").canBeSentAgain)
    }

    @Test("A second reader of a stream gets an error instead of an empty body, with and without pauses", arguments: [true, false])
    func readTwice(isPulled: Bool) async throws {
        let stream = Self.stream()
        try await stream.forEachPart { _ in }
        let error = await #expect(throws: TransportError.self) {
            if isPulled {
                try await stream.forEachPart(BodyPause {}, holding: nil) { _ in nil }
            } else {
                try await stream.forEachPart { _ in }
            }
        }
        #expect(error?.code == .requestBodyFailed)
    }
}
