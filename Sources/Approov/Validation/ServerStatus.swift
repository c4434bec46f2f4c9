import Foundation

/// What a server's own status means.
enum ServerStatus {
    static func isSuccess(_ number: Int64) -> Bool { number == 1 || (200...299).contains(number) }

    static func isSuccess(_ text: String) -> Bool {
        // No status is long; comparing must not cost what the server decides.
        guard text.utf8.count <= 32 else { return false }
        let text = text.trimmingCharacters(in: .whitespaces).lowercased()
        return ["true", "ok", "success"].contains(text) || Int64(text).map { isSuccess($0) } ?? false
    }
}
