import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import Synchronization
import TestTags
import Testing

@Suite("What the wrapped session loads", .tags(.sockets), .timeLimit(.minutes(5))) struct WrappedSessionTests {
    /// Claims a request when it is asked first, and never again.
    final class Fickle: URLProtocol {
        private static let asked = Mutex<Set<URL>>([])
        override class func canInit(with request: URLRequest) -> Bool {
            guard let url = request.url else { return false }
            return asked.withLock { $0.insert(url).inserted }
        }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func startLoading() { client?.urlProtocol(self, didFailWithError: URLError(.unknown)) }
        override func stopLoading() {}
    }

    /// Answers all requests.
    final class Mock: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { true }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func startLoading() {
            guard let url = request.url, let response = HTTPURLResponse(url: url, statusCode: 299, httpVersion: nil, headerFields: nil)
            else { return }
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocolDidFinishLoading(self)
        }
        override func stopLoading() {}
    }

    /// Starts a server that redirects to another one, which records what it receives.
    private func servers() async throws -> (first: RawServer, other: RawServer) {
        let other = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let first = try await RawServer.start { [port = other.port] connection in
            _ = try await connection.receiveHead()
            try await connection.send(
                "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(port)/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        return (first, other)
    }

    private func session(_ classes: [AnyClass], _ allowed: AllowedHosts?) throws -> ApproovSession {
        let wrapped = URLSessionConfiguration.ephemeral
        wrapped.protocolClasses = classes
        var configuration = ApproovSessionConfiguration()
        configuration.allowedHosts = allowed
        return try ApproovSession(wrapping: URLSession(configuration: wrapped), service: nil, configuration: configuration)
    }

    @Test("Foundation does not load, or redirect, a request that a protocol class claimed and then did not take", arguments: [true, false])
    func fickleClass(refusesPrivateAddresses: Bool) async throws {
        let (first, other) = try await servers()
        let allowed = AllowedHosts([try HostPattern("localhost")], refusesPrivateAddresses: refusesPrivateAddresses)
        let own = URLSessionConfiguration.ephemeral.protocolClasses ?? []
        let session = try session([Fickle.self] + own, allowed)
        let error = await #expect(throws: ApproovError.self) {
            try await session.data(for: URLRequest("http://localhost:\(first.port)/\(refusesPrivateAddresses)"))
        }
        #expect(error?.code == .badRequest)
        #expect(first.counters.connections == 0 && other.counters.connections == 0)
        await first.stop()
        await other.stop()
    }

    @Test("A protocol class that comes after Foundation's own answers the requests that it claims")
    func classAfterFoundations() async throws {
        let (first, other) = try await servers()
        let own = URLSessionConfiguration.ephemeral.protocolClasses ?? []
        #expect(!own.isEmpty)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = own + [Mock.self]
        let wrapped = URLSession(configuration: configuration)
        _ = try ApproovSession(wrapping: wrapped, service: nil)
        #expect(wrapped.configuration.protocolClasses?.count == own.count + 1)
        for allowed in [nil, AllowedHosts([try HostPattern("localhost")])] {
            let session = try session(own + [Mock.self], allowed)
            #expect(try await session.data(for: URLRequest("http://localhost:\(first.port)/")).1.statusCode == 299)
        }
        #expect(first.counters.connections == 0 && other.counters.connections == 0)
        await first.stop()
        await other.stop()
    }
}
