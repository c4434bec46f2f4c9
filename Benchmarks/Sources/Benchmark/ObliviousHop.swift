import ApproovRelay
import ApproovServer
import ApproovTesting
import ArgumentParser
import Foundation
import Logging
import ServiceLifecycle

/// A relay, a gateway or the API behind them in its own process, so that what it costs can be told from what the others cost.
///
/// Prints its URL when it listens and ends when its input does.
struct ObliviousHop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "hop", shouldDisplay: false)

    enum Kind: String, ExpressibleByArgument {
        case relay, gateway, api
    }

    @Argument var kind: Kind
    /// Where the gateway's keys are, and the root that the API made for itself.
    @Argument var folder: String
    /// A relay's gateway, a gateway's only origin.
    @Argument var next: String?

    func run() async throws {
        let folder = URL(filePath: folder)
        let rootsFile = folder.appending(path: "roots.pem")
        switch (kind, next) {
        case (.relay, let next?):
            try await serve { try Relay(configuration: RelayConfiguration(port: 0, gateway: next), logger: .silent, onReady: $0) }
        case (.gateway, let next?):
            try await serve {
                try Gateway(
                    keys: GatewayKeyFile(folder.appending(path: "gateway.keys")),
                    configuration: GatewayConfiguration(
                        port: 0, allowedOrigins: [next], trustRootsPEM: String(contentsOf: rootsFile, encoding: .utf8)),
                    logger: .silent, onReady: $0)
            }
        case (.api, _):
            let root = try TestPKI.root()
            try Data(root.pem.utf8).write(to: rootsFile)
            let api = try await TestHTTPServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root)) {
                try await Backend.answer($0)
            }
            say(api.url)
            await ChildProcess.untilInputEnds()
            await api.stop()
        case (_, nil): throw ValidationError("Say what comes next.")
        }
    }

    private func serve(_ make: (_ onReady: @escaping @Sendable (URL) async -> Void) throws -> any Service) async throws {
        let service = try await RunningService.start(make)
        say(service.url.absoluteString)
        await ChildProcess.untilInputEnds()
        try await service.stop()
    }

    private func say(_ url: String) {
        FileHandle.standardOutput.write(Data((url + "\n").utf8))
    }
}

extension Logger {
    fileprivate static var silent: Logger { Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() } }
}

/// The parent's side of ``ObliviousHop``.
final class HopProcess {
    let url: String
    let process: ChildProcess

    init(_ kind: ObliviousHop.Kind, folder: URL, next: String? = nil) throws {
        process = try ChildProcess(["hop", kind.rawValue, folder.path(percentEncoded: false)] + (next.map { [$0] } ?? []))
        url = String(decoding: process.ready, as: UTF8.self)
    }

    /// The most memory that was ever resident, in bytes.
    var peakMemory: Double { get throws { try process.peakMemory } }

    func stop() { process.stop() }
}
