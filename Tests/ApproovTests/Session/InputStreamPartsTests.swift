import Foundation
import Testing

@testable import Approov

@Suite struct InputStreamPartsTests {
    @Test("All bytes arrive in order, in parts of limited size")
    func whole() async throws {
        let content = Data((0..<200_001).map { UInt8(truncatingIfNeeded: $0) })
        var seen = Data()
        for try await part in InputStreamParts(InputStream(data: content)) {
            #expect(part.count <= InputStreamParts.partSize)
            seen.append(contentsOf: part)
        }
        #expect(seen == content)
    }

    @Test("A stream that cannot be read is an error, not an empty body")
    func unreadable() async throws {
        let stream = try #require(InputStream(fileAtPath: "/nonexistent/file"))
        await #expect(throws: ApproovError(.bodyFailed, "")) { for try await _ in InputStreamParts(stream) {} }
    }

    @Test("A stream that was already read is an error, not an empty body")
    func readBefore() async throws {
        let stream = InputStream(data: Data("once".utf8))
        for try await _ in InputStreamParts(stream) {}
        await #expect(throws: ApproovError(.bodyFailed, "")) { for try await _ in InputStreamParts(stream) {} }
    }
}
