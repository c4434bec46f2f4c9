import Approov
import ApproovAuthority
import ApproovTesting
import Attestation
import Crypto
import Foundation
import FoundationNetworking
import HTTPTypes
import MessageSignatures
import TestTags
import Testing

/// What a session signed is what a server sees that reads the bytes of the connection itself.
@Suite("A signature covers the request on the wire", .tags(.sockets, .slow), .timeLimit(.minutes(10)))
struct SignedWireTests {
    /// A request as the bytes of the connection have it.
    private struct Seen: Sendable {
        let method: String
        let target: String
        let fields: HTTPFields
        let body: [UInt8]
    }

    /// A random request.
    private struct Draw: Sendable {
        let method: String
        let target: String
        let headers: [String: String]
        let body: Body

        enum Body { case none, bytes(Int), file(Int) }

        private static let pieces = [
            "a", "B7", "%2F", "%2f", "%25", "%C3%A9", "%7e", "~", "..", ".", "", ";v=1", "a,b", "!$&'()*+=", "@:", "%20", "+", "%00",
        ]
        private static let parameters = ["", "a", "a=", "a=1", "a=2", "=", "x=%20", "x=+", "q=%26%3D", "q=/?", "%E2%82%AC=1", "a=1=2"]

        init(_ random: inout SeededGenerator) {
            let path = (0..<Int.random(in: 0...5, using: &random)).map { _ in "/" + random.pick(Self.pieces) }
            var target = path.isEmpty ? "/" : path.joined()
            switch Int.random(in: 0..<4, using: &random) {
            case 0: break
            case 1: target += "?"
            default:
                let count = Int.random(in: 1...6, using: &random)
                target += "?" + (0..<count).map { _ in random.pick(Self.parameters) }.joined(separator: "&")
            }
            self.target = target
            method = random.pick(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "get"])
            var headers: [String: String] = [:]
            if Bool.random(using: &random) { headers["Content-Type"] = random.pick(["text/plain", "a/b; c=\"d, e\"", ""]) }
            if Bool.random(using: &random) { headers["X-Extra"] = random.pick(["1", "a, b", " c ", ""]) }
            if Bool.random(using: &random) { headers["Content-Length"] = "7" }
            headers["Authorization"] = "Bearer \(UInt16.random(in: 0...3, using: &random))"
            self.headers = headers
            let count = random.pick([0, 1, 100, 16_384, 16_385, 70_000])
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1: body = .none
            case 2: body = .file(count)
            default: body = .bytes(count)
            }
        }
    }

    /// A server that records requests and answers each with 200.
    private func server(_ world: LoopbackWorld, _ seen: Shared<[Seen]>) async throws -> RawServer {
        try await RawServer.start(
            certificate: TestPKI.leaf(hosts: LoopbackWorld.names, issuer: world.root, key: world.keys[0]), recordingLimit: 0
        ) { connection in
            var bytes: [UInt8] = []
            let end = Array("\r\n\r\n".utf8)
            while true {
                while bytes.firstRange(of: end) == nil {
                    guard let more = await connection.receive() else { return }
                    bytes += more
                }
                guard let range = bytes.firstRange(of: end) else { return }
                let lines = String(decoding: bytes[..<range.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
                bytes.removeSubrange(..<range.upperBound)
                let words = lines[0].components(separatedBy: " ")
                var fields = HTTPFields()
                for line in lines.dropFirst() {
                    guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else { return }
                    fields.append(HTTPField(name: name, value: String(line[line.index(after: colon)...])))
                }
                let length = fields[.contentLength].flatMap { Int($0.trimmingCharacters(in: .whitespaces)) } ?? 0
                while bytes.count < length {
                    guard let more = await connection.receive() else { return }
                    bytes += more
                }
                let body = Array(bytes[..<length])
                bytes.removeSubrange(..<length)
                let request = Seen(method: words[0], target: words[1], fields: fields, body: body)
                seen.change { $0.append(request) }
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
    }

    private func host(of seen: Seen) -> String? {
        seen.fields.first { $0.name.canonicalName == "host" }?.value.trimmingCharacters(in: .whitespaces)
    }

    /// Verifies a request from its bytes alone, and checks that nothing that must be covered is left out.
    private func verify(_ seen: Seen, accountKey: MessageSigningKey) throws {
        let authority = try #require(host(of: seen))
        let target = try TargetURI(scheme: "https", authority: authority, path: seen.target)
        let token = try Token(try #require(seen.fields[.approovToken]).trimmingCharacters(in: .whitespaces))
        let claim = try #require(token.claims["ipk"] as? String)
        let ipk = try #require(Data(base64Encoded: claim))
        let keys: [SignatureVerificationKey] = [
            .ecdsaP256SHA256(try P256.Signing.PublicKey(derRepresentation: ipk)), try .hmacSHA256(accountKey.key),
        ]
        var required: [SignatureComponent] = [.method, .targetURI, .field(.approovToken), .field(.approovTraceID)]
        for name in [HTTPField.Name.authorization, .contentLength, .contentType] + Self.extra where seen.fields.contains(name) {
            required.append(.field(name))
        }
        let digest = try ContentDigest.read(from: seen.fields)
        if digest != nil { required.append(.contentDigest) }
        #expect(digest != nil || seen.body.isEmpty)
        try digest?.check(seen.body)
        for key in keys {
            var requirements = SignatureRequirements(covering: required)
            requirements.maximumAge = .seconds(3_600)
            requirements.clockSkew = .seconds(3_600)
            let signature = try SignatureVerifier(keys: [key], requirements: requirements).verify(
                .request(SignableRequest(method: seen.method, target: target, fields: seen.fields)))
            #expect(signature.parameters.components == required)
        }
    }

    private static let extra = ["X-Extra", "X-Tag"].compactMap { HTTPField.Name($0) }

    @Test("Five hundred random requests reach a raw server with the target URI, the fields and the digest that were signed")
    func random() async throws {
        try await LoopbackWorld.with { world in
            let accountKey = try await world.authority.store.changeMessageSigningKey()
            let seen = Shared<[Seen]>([])
            var servers: [RawServer] = []
            for _ in 0..<3 { servers.append(try await server(world, seen)) }
            // Only additional headers can repeat a field.
            var sessions: [ApproovSession] = []
            for (index, headers) in [[:], ["X-Tag": "a"], ["X-Tag": "a", "x-tag": "b, c", "X-TAG": ""]].enumerated() {
                let app = try await world.app {
                    $0.state = "state-\(index)"
                    $0.wrapping.httpAdditionalHeaders = headers
                    var signing = MessageSigning.both()
                    signing.additionalFields = ["X-Extra", "X-Tag"]
                    $0.configuration.signing = signing
                }
                sessions.append(app.session)
            }
            var random = SeededGenerator(seed: 9_421)
            var repeated = 0
            for number in 0..<500 {
                let draw = Draw(&random)
                let session = sessions[number % sessions.count]
                let port = random.pick(servers).port
                var request = URLRequest(url: try world.url(draw.target, port: port))
                request.httpMethod = draw.method
                for (name, value) in draw.headers { request.setValue(value, forHTTPHeaderField: name) }
                switch draw.body {
                case .none: _ = try await session.data(for: request)
                case .bytes(let count):
                    request.httpBody = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &+ number) })
                    _ = try await session.data(for: request)
                case .file(let count):
                    let path = try world.folder.write((0..<count).map { UInt8(truncatingIfNeeded: $0 ^ number) }, to: "upload")
                    _ = try await session.upload(for: request, fromFile: URL(filePath: path))
                }
                let last = try #require(seen.value.last)
                #expect(seen.value.count == number + 1)
                #expect(last.target == draw.target, "request \(number)")
                #expect(host(of: last) == "\(LoopbackWorld.apiHost):\(port)")
                if last.fields[values: Self.extra[1]].count > 1 { repeated += 1 }
                do {
                    try verify(last, accountKey: accountKey)
                } catch {
                    Issue.record(error, "request \(number): \(draw.method) \(draw.target)")
                }
            }
            #expect(repeated > 100)
            for server in servers { await server.stop() }
        }
    }
}

extension SeededGenerator {
    /// One of several values; there must be at least one.
    fileprivate mutating func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &self)] }
}
