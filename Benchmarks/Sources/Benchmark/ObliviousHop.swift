import ApproovRelay
import ApproovServer
import ArgumentParser
import Foundation
import HTTPTransport
import Logging
import ServiceLifecycle

/// A relay or a gateway in a process of its own, so that what it costs can be told from what the others cost.
///
/// Prints its URL when it listens and ends when its input does.
struct ObliviousHop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "hop", shouldDisplay: false)

    enum Kind: String, ExpressibleByArgument {
        case relay, gateway
    }

    @Argument var kind: Kind
    /// A relay's gateway, a gateway's only origin.
    @Argument var next: String
    @Argument var folder: String

    func run() async throws {
        let logger = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        let onReady: @Sendable (URL) async -> Void = { url in
            FileHandle.standardOutput.write(Data((url.absoluteString + "\n").utf8))
        }
        let service: any Service =
            switch kind {
            case .relay:
                try Relay(configuration: RelayConfiguration(port: 0, gateway: next), logger: logger, onReady: onReady)
            case .gateway:
                try Gateway(
                    keys: GatewayKeyFile(URL(filePath: folder).appending(path: "gateway.keys")),
                    configuration: GatewayConfiguration(
                        port: 0, allowedOrigins: [next],
                        trustRootsPEM: try String(contentsOfFile: folder + "/roots.pem", encoding: .utf8)),
                    logger: logger, onReady: onReady)
            }
        let group = ServiceGroup(services: [service], logger: logger)
        let thread = Thread {
            while readLine() != nil {}
            Task { await group.triggerGracefulShutdown() }
        }
        thread.start()
        try await group.run()
    }
}

/// The parent's side of ``ObliviousHop``.
final class HopProcess {
    let url: String
    private let process = Process()
    private let input = Pipe()

    init(_ kind: ObliviousHop.Kind, next: String, folder: URL) throws {
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["hop", kind.rawValue, next, folder.path(percentEncoded: false)]
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let part = output.fileHandleForReading.availableData
            guard !part.isEmpty else { throw BenchmarkError("the \(kind.rawValue) did not start") }
            line += part
        }
        url = String(decoding: line.dropLast(), as: UTF8.self)
    }

    /// The most memory that was ever resident, in bytes.
    var peakMemory: Double {
        get throws {
            let status = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            guard let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap({ Double($0) }) else {
                throw BenchmarkError("/proc/…/status cannot be read")
            }
            return kibibytes * 1024
        }
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
