// Works with the tokens of a folder, as one of several processes, or as one that tests kill.
//
//     oauth2-worker store FOLDER KEY NAME
//     oauth2-worker remove FOLDER KEY
//     oauth2-worker requests FOLDER KEY ROOTS SERVER ROUNDS COUNT [default]
//
// "store" stores the access token NAME, and "remove" removes the token, on the main thread alone, so that tests can count their system
// calls. In each of ROUNDS rounds, "requests" sends COUNT requests at once to SERVER/api with a token that has expired by the process's own
// clock, and prints the answers. The session wraps an ephemeral one, or with "default" the default one, whose cookies Foundation writes to
// the disk.
import ApproovBase
import CertificatePinning
import Foundation
import FoundationNetworking
import OAuth2
import Synchronization

/// A clock that runs ahead of the system's as far as it is told.
final class LeapingClock: TimeSource {
    private let lead = Mutex(Duration.zero)
    private let base = SystemTimeSource()

    var date: Date { base.date + lead.withLock { $0 } / .seconds(1) }
    var uptime: Duration { base.uptime }

    func sleep(for duration: Duration) async throws { try await base.sleep(for: duration) }
    func leap(_ duration: Duration) { lead.withLock { $0 += duration } }
}

func client(_ server: String) throws -> OAuth2Client {
    guard let url = URL(string: server + "/token") else { throw CocoaError(.fileNoSuchFile) }
    return try OAuth2Client(id: "app", secret: ClientSecret("s"), server: OAuth2Server(tokenURL: url))
}

/// The name of the token that is stored or removed.
func key() throws -> TokenKey { TokenKey(client: try client("https://login.test"), authorization: Authorization(level: .user)) }

/// Prints a line with a single write and ignores its failure, which a test may cause.
func say(_ text: String) { _ = (text + "\n").withCString { write(STDOUT_FILENO, $0, strlen($0)) } }

func requests(_ arguments: [String], _ store: FileTokenStore) async throws {
    let clock = LeapingClock()
    let trustManager = ApproovTrustManager(anchors: try TrustAnchors(pem: String(contentsOfFile: arguments[4], encoding: .utf8)))
    let credentials = try OAuth2Credentials(
        endpoints: OAuth2Endpoints(client: client(arguments[5]), trustManager: trustManager, clock: clock), store: store)
    let wrapped: URLSessionConfiguration = arguments.last == "default" ? .default : .ephemeral
    let session = try ApproovSession(
        wrapping: URLSession(configuration: wrapped), service: nil, trustManager: trustManager,
        interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("localhost")])])
    guard let url = URL(string: arguments[5] + "/api"), let rounds = Int(arguments[6]), let count = Int(arguments[7]) else {
        throw CocoaError(.fileNoSuchFile)
    }
    for _ in 0..<rounds {
        clock.leap(.seconds(3_600))
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { try await session.data(from: url).1.statusCode } }
            for try await status in group { say("\(status)") }
        }
    }
}

do {
    let arguments = CommandLine.arguments
    let store = FileTokenStore(directory: URL(filePath: arguments[2], directoryHint: .isDirectory), key: .file(URL(filePath: arguments[3])))
    switch arguments[1] {
    case "store":
        let key = try key()
        let token = try BearerToken(accessToken: arguments[4], expiresAt: Date(timeIntervalSince1970: 4_000_000_000))
        // Loads what is loaded at the first use, so that only the storing is counted.
        _ = try store.read(key)
        say("ready")
        try store.write(token, for: key)
        say("stored")
    case "remove":
        let key = try key()
        _ = try store.read(key)
        say("ready")
        try store.erase(key)
        say("removed")
    default: try await requests(arguments, store)
    }
} catch {
    FileHandle.standardError.write(Data("oauth2-worker: \(error)\n".utf8))
    exit(1)
}
