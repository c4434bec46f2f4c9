import ApproovBase
import Foundation
import Testing

@Suite struct CodedErrorTests {
    private struct SampleError: CodedError {
        struct Code: ErrorCode {
            let rawValue: String
            init(rawValue: String) { self.rawValue = rawValue }
            static let one = Code("one")
            static let two = Code("two")
        }

        let details: ErrorDetails<Code>
        init(_ details: ErrorDetails<Code>) { self.details = details }
    }

    @Test("Errors with the same code are equal, and a description contains code, message and cause")
    func description() {
        let error = SampleError(.one, "do this", cause: SampleError(.two, "below"))
        #expect(error == SampleError(.one, "other") && error != SampleError(.two, "do this"))
        #expect(error.code == .one && error.message == "do this" && error.cause is SampleError)
        #expect("\(error)" == "one: do this (two: below)")
        #expect((error as any Error).localizedDescription == "\(error)")
        #expect("\(SampleError(.two, "alone"))" == "two: alone")
    }

    @Test("A code's description is its name, and codes with the same name are equal")
    func code() {
        #expect(SampleError.Code.one.description == "one")
        #expect(SampleError.Code(rawValue: "two") == .two)
        #expect(Set([SampleError.Code.one, .two, .one]).count == 2)
    }

    /// A mistyped name would go unnoticed: callers compare codes, and only logs show their names.
    @Test("Every error code and reason in Sources has the name of its Swift member")
    func names() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources").standardized
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            for match in try String(contentsOf: file, encoding: .utf8).matches(of: /static let (\w+) = (?:Code|Reason)\("(.*)"\)/) {
                #expect(match.1 == match.2, "\(file.lastPathComponent)")
                count += 1
            }
        }
        #expect(count > 150)
    }
}
