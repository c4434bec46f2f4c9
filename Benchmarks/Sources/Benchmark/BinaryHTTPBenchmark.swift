import Foundation
import HTTPTypes
import OHTTP

/// (i) Binary HTTP messages read and written, on one core.
struct BinaryHTTPBenchmark {
    static let parseExample = "parse RFC 9292's example"
    static let serializeExample = "serialize RFC 9292's example"
    static let parseRequest = "parse a request, 205 B"
    static let serializeRequest = "serialize a request, 205 B"

    let options: Options

    func run() async throws -> [Figure] {
        var figures: [Figure] = []
        let example = try Self.rfcExample()
        let encodedExample = Data(try example.encoded())
        let small = try Self.request(body: 0)
        let encoded = Data(try small.encoded())
        guard encoded.count == 205 else { throw BenchmarkError("the request has \(encoded.count) B instead of the 205 of its name") }
        let response = try Self.response(body: 0)
        let encodedResponse = Data(try response.encoded())
        let steps: [(String, () throws -> Void)] = [
            (Self.parseExample, { blackHole(try BinaryHTTPRequest(decoding: encodedExample)) }),
            (Self.serializeExample, { blackHole(try example.encoded()) }),
            (Self.parseRequest, { blackHole(try BinaryHTTPRequest(decoding: encoded)) }),
            (Self.serializeRequest, { blackHole(try small.encoded()) }),
            ("parse a response, \(encodedResponse.count) B", { blackHole(try BinaryHTTPResponse(decoding: encodedResponse)) }),
            ("serialize a response, \(encodedResponse.count) B", { blackHole(try response.encoded()) }),
            (
                "parse and serialize a request, \(encoded.count) B",
                {
                    blackHole(try BinaryHTTPRequest(decoding: encoded))
                    blackHole(try small.encoded())
                }
            ),
        ]
        figures += try await rate(steps, scenario: "small message")
        figures += try await Comparison(group: "bhttp", scenario: "allocations", unit: .count, peers: []).run(
            steps.map { step in Subject(step.0) { try await allocationsPerCall(step.1) } }, options: options)
        let bodies = try [0, 1024, 16 * 1024, 1024 * 1024].map { size in
            let encoded = Data(try Self.request(body: size).encoded())
            return ("body of \(size) B", { blackHole(try BinaryHTTPRequest(decoding: encoded)) })
        }
        return figures + (try await rate(bodies, scenario: "parse by size", peers: ["body of 0 B"]))
    }

    private func rate(_ steps: [(String, () throws -> Void)], scenario: String, peers: [String] = []) async throws -> [Figure] {
        try await Comparison(group: "bhttp", scenario: scenario, unit: .perSecond, peers: peers).run(
            steps.map { step in Subject(step.0) { try callsPerSecond(step.1) } }, options: options)
    }

    /// Calls a second, from as many as fit into about half a round; `nanosecondsPerCall` is for calls that may wait, and costs a tenth of
    /// one of these.
    private func callsPerSecond(_ work: () throws -> Void) rethrows -> Round {
        let start = ContinuousClock.now
        let end = start + .seconds(options.seconds / 2)
        var calls = 0
        repeat {
            for _ in 0..<1_000 { try work() }
            calls += 1_000
        } while ContinuousClock.now < end
        return Round(value: Double(calls) / ((ContinuousClock.now - start) / .seconds(1)), operations: calls)
    }

    /// The request of RFC 9292, section 5.1.
    private static func rfcExample() throws -> BinaryHTTPRequest {
        let fields = try fields([
            ("user-agent", "curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3"), ("host", "www.example.com"),
            ("accept-language", "en, mi"),
        ])
        return BinaryHTTPRequest(
            head: HTTPRequest(method: .get, scheme: "https", authority: nil, path: "/hello.txt", headerFields: fields))
    }

    private static func request(body: Int) throws -> BinaryHTTPRequest {
        let fields = try fields([
            ("accept", "application/json"), ("authorization", "Bearer 0123456789abcdef0123456789abcdef"), ("user-agent", "Shapes/1.0"),
            ("approov-token", "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjE3OTUyMjk2MDB9.c2"),
        ])
        return BinaryHTTPRequest(
            head: HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/v1/shapes", headerFields: fields),
            body: Data(repeating: 0x61, count: body))
    }

    private static func response(body: Int) throws -> BinaryHTTPResponse {
        let fields = try fields([
            ("content-type", "application/json"), ("date", "Sat, 21 Nov 2026 14:00:00 GMT"), ("server", "shapes"),
            ("cache-control", "no-store"), ("etag", "\"0123456789abcdef\""),
        ])
        return BinaryHTTPResponse(
            head: HTTPResponse(status: .ok, headerFields: fields), body: Data(repeating: 0x61, count: body))
    }

    private static func fields(_ lines: [(String, String)]) throws -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in lines {
            guard let name = HTTPField.Name(name) else { throw BenchmarkError("not a field name") }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }
}
