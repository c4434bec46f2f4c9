import Approov
import ArgumentParser
import Foundation
import FoundationNetworking

/// One request in its own process, which then says how much memory it has.
///
/// Prints a line with the number of bytes and ends when its input does.
struct OneCall: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "one-call", shouldDisplay: false)

    enum Client: String, ExpressibleByArgument {
        /// The C loop, in a program that uses Foundation.
        case loop
        /// A session with a token, pins and a bound header.
        case session
    }

    @Argument var client: Client
    /// The URL of the API.
    @Argument var url: String
    /// The file with the roots of the API's certificate.
    @Argument var roots: String
    /// The file with the initial configuration.
    @Argument var initial: String

    func run() async throws {
        // Both read the same files through Foundation.
        let (roots, initial) = (
            try String(contentsOfFile: roots, encoding: .utf8), try String(contentsOfFile: initial, encoding: .utf8)
        )
        guard !roots.isEmpty else { throw BenchmarkError("no roots") }
        switch client {
        case .loop:
            let request = try ProtectedApp.request(url)
            let loop = try CurlLoopPeer(url: request.url?.absoluteString ?? "", roots: self.roots, atOnce: 1)
            guard try loop.rate(seconds: 0).operations == 1 else { throw BenchmarkError("the C loop made more than one request") }
            try await finish()
        case .session:
            let app = try ProtectedApp(configuration: initial)
            defer { app.remove() }
            try await ApproovSessionClient(session: app.session, request: try ProtectedApp.request(url)).get()
            try await finish()
        }
    }

    private func finish() async throws {
        FileHandle.standardOutput.write(Data("\(Int(try ResidentMemory.now()))\n".utf8))
        await ChildProcess.untilInputEnds()
    }
}
