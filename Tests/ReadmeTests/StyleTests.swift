import ApproovTesting
import Foundation
import Testing

/// Runs Scripts/style on small files.
@Suite struct StyleTests {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Scripts/style")

    /// The lines that the script prints about a file, without the file's name.
    private func problems(in text: String) async throws -> [String] {
        let folder = try TemporaryFolder()
        let path = try folder.write(text, to: "Example.swift")
        let run = try await ChildProcess.run(
            Self.script, [path], environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""])
        let lines = run.output.split(separator: "\n").map { String($0.replacing("\(path):", with: "")) }
        #expect(run.exitCode == (lines.isEmpty ? 0 : 1), "\(run.errors)")
        return lines
    }

    @Test("Scripts/style accepts a file that follows all rules")
    func good() async throws {
        let found = try await problems(
            in: """
                /// Follows RFC 9458, section 3.2 and RFC 9292, appendix A.
                public protocol Example {
                    /// Does something.
                    ///
                    /// - Parameters:
                    ///   - one: The first value,
                    ///     in two lines.
                    ///   - two: The second value.
                    /// - Returns: The result.
                    /// - Throws: ``PinningError`` with code `malformedPin` or `noPins`.
                    func both(_ one: Int, two: [Int: Int]) throws -> Int
                }

                public struct Other {
                    func hidden(_ one: Int, two: Int) throws {}
                    /// Calls a closure.
                    public init(_ closure: (_ one: Int, _ two: Int) throws -> Void) {}
                }
                """)
        #expect(found.isEmpty, "\(found)")
    }

    @Test(
        "Scripts/style reports the line and the rule of each violation",
        arguments: [
            ("// RFC 9458 section 3.2", 1, "RFC n, section x"), ("// RFC 9458, 3.2", 1, "RFC n, section x"),
            ("// RFC 9458 §3", 1, "RFC n, section x"), ("// section 3.2 of RFC 9458", 1, "RFC n, section x"),
            ("/// - Returns: the result.", 1, "capital letter"), ("/// - Returns: The result", 1, "period"),
            ("/// - Parameters:\n///   - one: a value.", 2, "capital letter"),
            ("/// - Throws: ``PinningError/Code/noPins``.", 1, "with code"),
            ("/// - Throws: `PinningError` `noPins`.", 1, "with code"),
            ("/// Throws.\npublic func one() throws {}", 2, "needs - Throws"),
            ("/// Takes two.\npublic func two(_ one: Int, _ two: Int) {}", 2, "needs - Parameters"),
            ("public protocol P {\n    /// Throws.\n    func one() async throws\n}", 3, "needs - Throws"),
        ])
    func bad(text: String, line: Int, rule: String) async throws {
        let found = try await problems(in: text)
        #expect(found.count == 1 && found[0].hasPrefix("\(line): ") && found[0].contains(rule), "\(found)")
    }
}
