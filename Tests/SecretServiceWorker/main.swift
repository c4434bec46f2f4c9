// Takes turns with other processes at the token of one account.
//
//     secret-service-worker BUS LOCKS COUNT
//     secret-service-worker BUS LOCKS connect COUNT
//
// Adds 1 to the number in the stored access token, COUNT times, each time in its turn; or makes COUNT stores and uses each once, and prints
// "closed" when no more descriptors are open than after the first. An empty BUS is the process's own.
import Foundation
import OAuth2SecretService

do {
    let arguments = CommandLine.arguments
    let makeStore = {
        SecretServiceTokenStore(
            lockDirectory: URL(filePath: arguments[2], directoryHint: .isDirectory), busAddress: arguments[1].isEmpty ? nil : arguments[1])
    }
    let store = makeStore()
    guard let url = URL(string: "https://login.test/token"), let count = Int(arguments[arguments.count - 1]) else {
        throw CocoaError(.fileNoSuchFile)
    }
    let client = try OAuth2Client(id: "app", server: OAuth2Server(tokenURL: url))
    let key = TokenKey(client: client, authorization: Authorization(level: .user))
    if arguments[3] == "connect" {
        let descriptors = { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        let isPossible = (try? await store.token(for: key)) != nil
        let before = try descriptors()
        for _ in 0..<count {
            guard ((try? await makeStore().token(for: key)) != nil) == isPossible else { throw CocoaError(.fileNoSuchFile) }
        }
        // GLib closes connections on its own thread.
        while try descriptors() > before { try await Task.sleep(for: .milliseconds(5)) }
        print("closed after", isPossible ? "answers" : "errors")
        exit(0)
    }
    for _ in 0..<count {
        try await store.withExclusiveAccess(for: key) {
            guard let token = try await store.token(for: key), let number = Int(token.accessToken) else {
                throw CocoaError(.fileNoSuchFile)
            }
            let next = try BearerToken(accessToken: "\(number + 1)", expiresAt: Date(timeIntervalSince1970: 4_000_000_000))
            guard try await store.replace(token, with: next, for: key) else { throw CocoaError(.fileWriteFileExists) }
        }
    }
} catch {
    FileHandle.standardError.write(Data("secret-service-worker: \(error)\n".utf8))
    exit(1)
}
