import CertificatePinning
import Foundation

/// (a) One small request over TLS 1.3 and HTTP/2 to nginx on loopback, at 1, 16 and 64 at once.
struct TransportBenchmark {
    let options: Options

    func run() async throws -> [Figure] {
        guard let server = options.server, let roots = options.roots else {
            throw BenchmarkError("the transport group needs --server and --roots; Scripts/benchmark brings both")
        }
        let url = server + "/five"
        let curlTransport = try CurlTransportClient(url: url, roots: TrustAnchors(pem: String(contentsOfFile: roots, encoding: .utf8)))
        let asyncHTTPClient = try AsyncHTTPClientPeer(url: url, roots: roots)
        let urlSession = try URLSessionPeer(url: url)
        let backend = try BackendProcess(options: options)
        defer { backend.stop() }
        let app = try ProtectedApp(backend)
        defer { app.remove() }
        let approovSession = ApproovSessionClient(session: app.session, request: try ProtectedApp.request(url))
        let fields = try await app.fields(for: url)
        var figures: [Figure] = []
        for atOnce in [1, 16, 64] {
            let loop = try CurlLoopPeer(url: url, roots: roots, atOnce: atOnce)
            let loopWithFields = try CurlLoopPeer(url: url, roots: roots, atOnce: atOnce, fields: fields)
            let thread = try CurlThreadPeer(url: url, roots: roots, atOnce: atOnce)
            let threadWithFields = try CurlThreadPeer(url: url, roots: roots, atOnce: atOnce, fields: fields)
            let seconds = options.seconds
            var subjects = [
                Subject("C loop", isPeer: true) { try loop.rate(seconds: seconds) },
                // What the fields alone cost: libcurl calls its formatter again for each byte of a field.
                Subject("C loop with the session's fields", isPeer: true) { try loopWithFields.rate(seconds: seconds) },
                // The nearest bound of HTTPTransport, whose callers are tasks.
                Subject("C loop on a thread", isPeer: true) { try await thread.rate(atOnce: atOnce, seconds: seconds) },
                // The nearest bound of ApproovSession.
                Subject("C loop on a thread, same fields", isPeer: true) {
                    try await threadWithFields.rate(atOnce: atOnce, seconds: seconds)
                },
                Subject("HTTPTransport") { try await curlTransport.rate(atOnce: atOnce, seconds: seconds) },
                Subject("ApproovSession") { try await approovSession.rate(atOnce: atOnce, seconds: seconds) },
                Subject("AsyncHTTPClient", isPeer: true) { try await asyncHTTPClient.rate(atOnce: atOnce, seconds: seconds) },
            ]
            if options.withUrlSession {
                subjects.append(Subject("URLSession", isPeer: true) { try await urlSession.rate(atOnce: atOnce, seconds: seconds) })
            }
            figures += try await Comparison(
                group: "transport", scenario: "\(atOnce) at once", unit: .perSecond,
                peers: [
                    "C loop", "C loop with the session's fields", "C loop on a thread", "C loop on a thread, same fields",
                    "AsyncHTTPClient",
                    "URLSession",
                ]
            ).run(subjects, options: options)
        }
        curlTransport.shutdown()
        try await asyncHTTPClient.shutdown()
        return figures
    }
}
