import Approov
import CertificatePinning
import CurlLoop
import Foundation
import FoundationNetworking
import HTTPTransport
import HTTPTypes

/// 1 GiB from a file and from a stream to the backend's API, beside what one thread of libcurl's own does with the same file.
struct UploadBenchmark {
    static let bytes = 1 << 30
    /// The parts of the stream; a multipart body has parts of this size.
    static let part = 64 << 10

    let options: Options

    func run() async throws -> [Figure] {
        let backend = try BackendProcess(options: options)
        defer { backend.stop() }
        let app = try ProtectedApp(backend)
        defer { app.remove() }
        let zeros = try SparseFile(bytes: Self.bytes)
        defer { zeros.remove() }
        let file = zeros.url
        let roots = file.path() + ".pem"
        try backend.roots.write(toFile: roots, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: roots) }

        let url = backend.api + "/sink"
        let transport = try CurlTransport()
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: backend.roots))
        let target = try TransportURL(url)
        @Sendable func send(_ body: RequestBody) async throws -> String {
            let response = try await transport.send(TransportRequest(url: target, method: .post, body: body, policy: policy))
            return String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self)
        }
        let figures = try await Comparison(group: "upload", scenario: "1 GiB", unit: .speed, peers: ["C loop"]).run(
            [
                Subject("C loop", isPeer: true) {
                    try await Self.round {
                        curl_upload(url, roots, file.path(), Self.bytes) == 200 ? "\(Self.bytes)" : "an error"
                    }
                },
                Subject("HTTPTransport") { try await Self.round { try await send(.file(path: file.path())) } },
                Subject("HTTPTransport, stream") { try await Self.round { try await send(.stream(length: Self.bytes, Self.stream)) } },
                Subject("ApproovSession") {
                    try await Self.round {
                        var request = try ProtectedApp.request(url)
                        request.httpMethod = "POST"
                        return String(decoding: try await app.session.upload(for: request, fromFile: file).0, as: UTF8.self)
                    }
                },
            ], options: options)
        transport.shutdown()
        return figures
    }

    private static var stream: RequestBodyStream {
        let part = [UInt8](repeating: 0, count: part)
        return RequestBodyStream(
            AsyncStream {
                part
            }.prefix(bytes / part.count))
    }

    private static func round(_ upload: () async throws -> String) async throws -> Round {
        var received = ""
        let elapsed = try await seconds { received = try await upload() }
        guard received == "\(bytes)" else { throw BenchmarkError("the backend received \(received) bytes, not \(bytes)") }
        return Round(value: Double(bytes >> 20) / elapsed, operations: bytes >> 20)
    }
}
