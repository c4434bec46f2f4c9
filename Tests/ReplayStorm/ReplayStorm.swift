import ApproovReplayStores
import ApproovTokenCheck
import Foundation

/// Uses tokens, each several times at once, and prints those whose use was the first: `replay-storm FILE TOKENS`.
@main
struct ReplayStorm {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let tokens = Int(arguments[2]) else { return print("replay-storm FILE TOKENS") }
        let store = try SQLiteReplayStore(path: arguments[1])
        let end = Int64(Date().timeIntervalSince1970) + 3_600
        try await withThrowingTaskGroup(of: Void.self) { group in
            for token in 0..<tokens {
                for _ in 0..<3 {
                    group.addTask {
                        guard try await store.consume("\(token)", of: "storm", until: end) else { return }
                        FileHandle.standardOutput.write(Data("\(token)\n".utf8))
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
