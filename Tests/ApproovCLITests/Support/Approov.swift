import ApproovTesting
import Foundation
import Testing

/// Runs the built `approov`, which is beside the test bundle.
enum Approov {
    /// Starts the command without waiting for its end.
    static func start(
        _ arguments: [String], in folder: URL? = nil, environment: [String: String] = [:], descriptors: String? = nil,
        output: FileHandle? = nil
    ) throws -> ChildProcess {
        let environment = ["HOME": "/nonexistent"].merging(environment) { $1 }
        guard let descriptors else {
            return try ChildProcess(ChildProcess.approov, arguments, in: folder, environment: environment, output: output)
        }
        let script = "ulimit \(descriptors) && exec \"$0\" \"$@\""
        return try ChildProcess(
            URL(filePath: "/bin/sh"), ["-c", script, ChildProcess.approov.path(percentEncoded: false)] + arguments, in: folder,
            environment: environment, output: output)
    }

    /// Runs the command to its end.
    static func run(_ arguments: String..., in folder: URL? = nil) async throws -> ChildProcess.Run {
        try await run(arguments, in: folder)
    }

    /// Runs the command to its end.
    static func run(_ arguments: [String], in folder: URL? = nil, environment: [String: String] = [:]) async throws -> ChildProcess.Run {
        try await recordingCrash(
            ChildProcess.run(ChildProcess.approov, arguments, in: folder, environment: ["HOME": "/nonexistent"].merging(environment) { $1 })
        )
    }

    /// The claims of a token, without verification.
    static func claims(of token: String) throws -> [String: Any] {
        let payload = try #require(token.split(separator: ".").dropFirst().first)
        let base64 = payload.replacing("-", with: "+").replacing("_", with: "/")
        let json = try #require(Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4)))
        return try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
    }

    /// Records an issue if the command crashed.
    static func recordingCrash(_ run: ChildProcess.Run) -> ChildProcess.Run {
        if case .signal = run.end { Issue.record("the command crashed: \(run.errors.suffix(20_000))") }
        return run
    }
}

extension ChildProcess.Run {
    /// The lines of standard output.
    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// Standard output as JSON.
    func json() throws -> Any { try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed) }
}
