import ApproovAuthority
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes

/// A server in front of the authority, with the authority's key: counts, delays or breaks the requests.
final class AuthorityFront: Sendable {
    /// The treatment of a connection or a request.
    enum Behavior: Sendable {
        /// Forwards every request.
        case forward
        /// Calls this with the path of every request, and forwards the request when it returns.
        case hold(@Sendable (String) async -> Void)
        /// Passes every connection to this script.
        case fault(@Sendable (RawConnection) async throws -> Void)
    }

    private struct State {
        var behavior = Behavior.forward
        var requests: [String: Int] = [:]
    }

    private let state: Shared<State>
    private let server: RawServer
    private let transport: CurlTransport
    let pins: [String]

    private init(state: Shared<State>, server: RawServer, transport: CurlTransport, pins: [String]) {
        self.state = state
        self.server = server
        self.transport = transport
        self.pins = pins
    }

    /// Starts a front, runs the body, and stops the front.
    static func with(_ world: LoopbackWorld, _ body: (AuthorityFront) async throws -> Void) async throws {
        let identity = try await world.authority.store.serverIdentity(hosts: [])
        let certificate = try TestPKI.leaf(hosts: ["localhost"], issuer: world.root, key: TestKey(pem: identity.keyPEM))
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: identity.rootPEM))
        let transport = try CurlTransport()
        let state = Shared(State())
        let authority = world.authority.url.absoluteString
        let server = try await RawServer.start(certificate: certificate) { connection in
            if case .fault(let script) = state.value.behavior { return try await script(connection) }
            while true { try await forward(connection, to: authority, policy: policy, over: transport, state) }
        }
        let front = AuthorityFront(state: state, server: server, transport: transport, pins: identity.pins)
        defer { transport.shutdown() }
        do {
            try await body(front)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    var url: URL { URL(string: "https://localhost:\(server.port)") ?? URL(filePath: "/") }

    /// The number of accepted connections.
    var connections: Int { server.counters.connections }

    /// The number of requests for a path.
    func requests(_ path: String) -> Int { state.value.requests[path, default: 0] }

    var behavior: Behavior {
        get { state.value.behavior }
        set { state.change { $0.behavior = newValue } }
    }

    /// Forwards one request, and returns its answer to the client.
    private static func forward(
        _ connection: RawConnection, to authority: String, policy: TrustPolicy, over transport: CurlTransport, _ state: Shared<State>
    ) async throws {
        let (line, fields, body) = try await connection.receiveRequest()
        guard line.count == 3, let method = HTTPRequest.Method(String(line[0])) else { throw TestFailure("no request line") }
        let path = String(line[1].prefix { $0 != "?" })
        let behavior = state.change { state in
            state.requests[path, default: 0] += 1
            return state.behavior
        }
        if case .hold(let hold) = behavior { await hold(path) }
        var request = TransportRequest(url: try TransportURL(authority + line[1]), method: method, policy: policy)
        request.headerFields[.contentType] = fields["content-type"]
        request.body = .bytes(body)
        let response = try await transport.send(request)
        let answer = try await response.body.collect(upTo: 1 << 20)
        let type = response.headerFields[.contentType].map { "Content-Type: \($0)\r\n" } ?? ""
        try await connection.send("HTTP/1.1 \(response.status) Status\r\n\(type)Content-Length: \(answer.count)\r\n\r\n")
        try await connection.send(answer)
    }
}

extension RawConnection {
    /// Waits for a whole HTTP/1.1 request whose body has a length.
    /// - Returns: The words of its first line, its fields by their lower-case names, and its body.
    func receiveRequest() async throws -> (line: [Substring], fields: [String: String], body: [UInt8]) {
        // RawConnection represents each byte as one scalar.
        let scalars = Array(try await receiveHead().unicodeScalars)
        guard let end = scalars.indices.first(where: { scalars[$0...].starts(with: "\r\n\r\n".unicodeScalars) }) else {
            throw TestFailure("no end of head")
        }
        var head = String.UnicodeScalarView()
        head.append(contentsOf: scalars[..<end])
        let lines = String(head).split(separator: "\r\n")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        var body = scalars[(end + 4)...].map { UInt8(truncatingIfNeeded: $0.value) }
        let length = fields["content-length"].flatMap { Int($0) } ?? 0
        while body.count < length {
            guard let more = await receive() else { throw TestFailure("the body broke off") }
            body += more
        }
        return (lines.first?.split(separator: " ") ?? [], fields, body)
    }
}
