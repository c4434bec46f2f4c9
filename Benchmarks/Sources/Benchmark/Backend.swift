import ApproovServer
import ApproovTesting
import ArgumentParser
import Attestation
import CertificatePinning
import Foundation
import HTTPTypes

/// The other side, in its own process: an authority on a real store, and an API that is protected by it.
///
/// Prints one line of JSON when both listen and ends when its input does.
struct Backend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "backend", shouldDisplay: false)

    @OptionGroup var options: Options

    func run() async throws {
        let authority = try await TestAuthority.start(host: "authority.localhost")
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        var pins = [leaf.pin.description, root.pin.description]
        var roots = root.pem
        if let path = options.leaf { pins += try PublicKeyFile.pins(inFile: path).map(\.description) }
        if let path = options.roots { roots += try String(contentsOfFile: path, encoding: .utf8) }
        try await authority.store.addHost("localhost", settings: HostSettings(pins: pins, trustRoots: roots))
        try await authority.store.addRegistration(
            ExecutableMeasurement.sha256(ofFileAt: URL(filePath: "/proc/self/exe")), label: "benchmark")

        let api = try await TestHTTPServer.start(certificate: leaf) { request in try await Self.answer(request) }
        let initial = try await authority.initialConfiguration().serialized
        let ready = Ready(configuration: String(decoding: initial, as: UTF8.self), api: api.url, roots: root.pem)
        FileHandle.standardOutput.write(try JSONEncoder().encode(ready) + Data("\n".utf8))
        await ChildProcess.untilInputEnds()
        await api.stop()
        await authority.stop()
    }

    /// What the parent is told.
    struct Ready: Codable {
        let configuration: String
        let api: String
        /// The root of the API's certificate, in PEM.
        let roots: String
    }

    /// `GET /zeros` gives as many bytes as its query says, `POST /verify` verifies a signature, any other `POST` swallows and answers how many
    /// bytes there were, all else gets five bytes.
    static func answer(_ request: TestRequest) async throws -> TestResponse {
        if request.path == "/verify" {
            var body: [UInt8] = []
            for try await piece in request.body { body += piece }
            return TestResponse(text: try BareVerification.answer(to: body))
        }
        if request.method == .post {
            var count = 0
            for try await piece in request.body { count += piece.count }
            return TestResponse(text: "\(count)")
        }
        guard request.path == "/zeros", let query = request.target.split(separator: "?").last, let length = Int(query) else {
            return TestResponse(text: "hello")
        }
        let piece = [UInt8](repeating: 0, count: 64 * 1024)
        return TestResponse(length: length) { index in
            let left = length - index * piece.count
            return left <= 0 ? nil : left < piece.count ? Array(piece.prefix(left)) : piece
        }
    }
}

/// The parent's side of ``Backend``.
final class BackendProcess {
    let configuration: String
    let api: String
    let roots: String
    let process: ChildProcess

    // Starts it and waits until it listens; `processor` is the one that it keeps to, nil for any.
    init(options: Options, processor: Int? = nil) throws {
        var arguments = ["backend"]
        if let roots = options.roots { arguments += ["--roots", roots] }
        if let leaf = options.leaf { arguments += ["--leaf", leaf] }
        process = try ChildProcess(arguments, processor: processor)
        let ready = try JSONDecoder().decode(Backend.Ready.self, from: process.ready)
        (configuration, api, roots) = (ready.configuration, ready.api, ready.roots)
    }

    func stop() { process.stop() }
}
