import AsyncHTTPClient
import CurlLoop
import Foundation
import FoundationNetworking
import NIOCore
import NIOHTTP1
import NIOSSL

/// The bound: one C thread over curl_multi, blocking its caller.
final class CurlLoopPeer {
    private let loop: OpaquePointer
    private let atOnce: Int

    // Each request has the fields, which are lines as in "Name: value".
    init(url: String, roots: String, atOnce: Int, fields: [String] = []) throws {
        loop = try Self.loop(url: url, roots: roots, atOnce: atOnce, fields: fields)
        self.atOnce = atOnce
    }

    /// Makes a loop, which the caller must destroy.
    fileprivate static func loop(url: String, roots: String, atOnce: Int, fields: [String]) throws -> OpaquePointer {
        let lines = fields.map { strdup($0) }
        defer { for line in lines { free(line) } }
        let loop = lines.map { UnsafePointer($0) }.withUnsafeBufferPointer {
            $0.withMemoryRebound(to: UnsafePointer<CChar>.self) {
                curl_loop_create(url, roots, Int32(atOnce), $0.baseAddress, Int32($0.count))
            }
        }
        guard let loop else { throw BenchmarkError("no memory for the C loop") }
        return loop
    }

    deinit { curl_loop_destroy(loop) }

    func rate(seconds: Double) throws -> Round {
        let clock = ContinuousClock()
        let start = clock.now
        let answered = curl_loop_run(loop, seconds)
        guard answered >= 0 else { throw BenchmarkError("the C loop was not answered 200") }
        return Round(value: Double(answered) / ((clock.now - start) / .seconds(1)), operations: Int(answered))
    }
}

/// The bound for requests of tasks: a C thread over curl_multi, to which each task hands its request, and which resumes the task.
final class CurlThreadPeer: LoadClient {
    /// What waits for a request.
    private final class Waiter {
        let continuation: UnsafeContinuation<Int, Never>

        init(_ continuation: UnsafeContinuation<Int, Never>) { self.continuation = continuation }
    }

    /// A pointer that threads share, which is safe because the C loop locks what they submit.
    private struct SharedLoop: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let loop: SharedLoop
    private let end = DispatchSemaphore(value: 0)

    // Each request has the fields, which are lines as in "Name: value".
    init(url: String, roots: String, atOnce: Int, fields: [String] = []) throws {
        loop = SharedLoop(pointer: try CurlLoopPeer.loop(url: url, roots: roots, atOnce: atOnce, fields: fields))
        Thread.detachNewThread { [loop, end] in
            curl_loop_serve(loop.pointer) { request, status in
                guard let request else { return }
                Unmanaged<Waiter>.fromOpaque(request).takeRetainedValue().continuation.resume(returning: status)
            }
            end.signal()
        }
    }

    deinit {
        curl_loop_stop(loop.pointer)
        end.wait()
        curl_loop_destroy(loop.pointer)
    }

    func get() async throws {
        let status = await withUnsafeContinuation { continuation in
            curl_loop_submit(loop.pointer, Unmanaged.passRetained(Waiter(continuation)).toOpaque())
        }
        guard status == 200 else { throw BenchmarkError("the C loop was answered \(status), not 200") }
    }
}

struct AsyncHTTPClientPeer: LoadClient {
    private let client: HTTPClient
    private let url: String

    init(url: String, roots: String) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(roots)
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.httpVersion = .automatic
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        self.url = url
    }

    func shutdown() async throws { try await client.shutdown() }

    func get() async throws {
        let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 1024)
        try expectFiveBytes(status: Int(response.status.code), count: body.readableBytes, from: "AsyncHTTPClient")
    }
}

/// URLSession as it comes; its root is named by the environment (Scripts/benchmark).
struct URLSessionPeer: LoadClient {
    let session = URLSession(configuration: .ephemeral)
    let url: URL

    init(url: String) throws {
        guard let url = URL(string: url) else { throw BenchmarkError("\(url) is not a URL") }
        self.url = url
    }

    func get() async throws {
        let (data, response) = try await session.data(from: url)
        try expectFiveBytes(status: (response as? HTTPURLResponse)?.statusCode ?? 0, count: data.count, from: "URLSession")
    }
}
