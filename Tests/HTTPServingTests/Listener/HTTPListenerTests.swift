import ApproovTesting
import HTTPServing
import Hummingbird
import Logging
import TestTags
import Testing

/// What the listener accepts, on real sockets.
@Suite(.tags(.sockets), .serialized, .timeLimit(.minutes(5))) struct HTTPListenerTests {
    @Test("Listening on an address that is not this machine's fails, and the error names the address", arguments: ["192.0.2.1", "no name"])
    func cannotListen(host: String) async throws {
        let listener = HTTPListener(
            address: ListenerAddress(host: host, port: 8_443, tls: nil), limits: ListenerLimits(requestTimeout: .seconds(1)))
        let failure = await #expect(throws: ListenerFailure.self) {
            try await listener.run(router: Router(), logger: Logger(label: "test")) { _ in }
        }
        #expect(failure?.kind == .cannotListen)
        #expect(failure?.message.contains("\(host) port 8443: stop the program that listens there, or choose") == true)
    }

    @Test("The server refuses a head that is too long or has too many fields")
    func headers() async throws {
        try await BareListener.with({ $0.headerBytes = 1_024 }) { port in
            let client = try RawClient(port: port)
            client.write("GET /health HTTP/1.1\r\nHost: x\r\nX-Long: \(String(repeating: "a", count: 2_000))\r\n\r\n")
            let answer = await client.readToEnd()
            #expect(answer.text.hasPrefix("HTTP/1.1 400"))
            #expect(answer.isClosed)
            let many = try RawClient(port: port)
            many.write("GET /health HTTP/1.1\r\n" + (0..<100).map { "A\($0): b\r\n" }.joined() + "\r\n")
            #expect(await many.readToEnd().text.hasPrefix("HTTP/1.1 400"))
            #expect(try await BareListener.isHealthy(port))
        }
    }

    @Test("Requests are handled on their connections' event loops if the server asks for it, and otherwise not", arguments: [true, false])
    func eventLoop(isAsked: Bool) async throws {
        try await BareListener.with({ $0.handlesOnEventLoop = isAsked }) { port in
            let answer = try await BareListener.answer(to: "GET /loop", port: port)
            #expect(answer.hasSuffix("\(isAsked)"))
        }
    }

    @Test(
        "Content over HTTP/2 that the end of the connection cuts off cannot be read, and is never taken for the whole",
        arguments: [(true, "6"), (false, "failed")])
    func cutOff(isWhole: Bool, note: String) async throws {
        let root = try TestPKI.root()
        let notes = Shared<[String]>([])
        try await BareListener.with(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root), notes: notes) { port in
            let client = try await FrameClient.connect(to: port)
            try await client.post("/note")
            try await client.send("abc", endsStream: false)
            // A request whose connection closes before its handler begins is refused.
            #expect(await eventually { notes.value == ["begun"] })
            try await client.send("def", endsStream: isWhole)
            await client.close()
            #expect(await eventually { notes.value == ["begun", note] })
        }
    }

    @Test("The server closes a connection whose bytes are not HTTP")
    func garbage() async throws {
        // So long that only the refusal can close the connection while the client waits.
        try await BareListener.with({ $0.idleTimeout = .seconds(300) }) { port in
            for text in ["\u{0}\u{0}\u{0}\u{0}\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{16}\u{3}\u{1}\r\n\r\n"] {
                let client = try RawClient(port: port)
                client.write(text)
                let answer = await client.readToEnd()
                #expect(answer.text.isEmpty || answer.text.hasPrefix("HTTP/1.1 4") || answer.text.hasPrefix("HTTP/1.1 505"))
                #expect(answer.isClosed)
            }
            let isHealthy = try await eventually { try await BareListener.isHealthy(port) }
            #expect(isHealthy)
        }
    }

    @Test(
        "A request must have one Host field; otherwise it is answered 400 after earlier requests, and the connection ends",
        arguments: [(0, ["200", "400"]), (1, ["200", "200", "200"]), (2, ["200", "400"])])
    func host(count: Int, statuses: [String]) async throws {
        try await BareListener.with { port in
            let client = try RawClient(port: port)
            client.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            client.write("GET /health HTTP/1.1\r\n" + String(repeating: "Host: x\r\n", count: count) + "\r\n")
            client.write("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let answer = await client.readToEnd()
            #expect(answer.text.split(separator: "HTTP/1.1 ").map { String($0.prefix(3)) } == statuses)
            #expect(answer.isClosed)
        }
    }

    @Test("A client that waits for 100 (Continue) gets it before it sends the content")
    func continues() async throws {
        try await BareListener.with { port in
            let client = try RawClient(port: port)
            client.write("POST /length HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\nConnection: close\r\n\r\n")
            #expect(await client.readText() == "HTTP/1.1 100 Continue\r\n\r\n")
            client.write("abc")
            let answer = await client.readToEnd().text
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("\r\n\r\n3"), "\(answer)")
        }
    }

    @Test(
        "The connection ends after the answer to a client that wants no other, and HTTP/1.0 gets no chunks",
        arguments: [
            ("HTTP/1.0\r\n", "HTTP/1.0"), ("HTTP/1.0\r\nConnection: keep-alive\r\n", "HTTP/1.0"),
            ("HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n", "HTTP/1.1"),
            ("HTTP/1.1\r\nHost: x\r\nConnection: x, close\r\n", "HTTP/1.1"),
            ("HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n", "HTTP/1.1"),
        ])
    func last(rest: String, version: String) async throws {
        // So long that only the answer can end the connection while the client waits.
        try await BareListener.with({ $0.idleTimeout = .seconds(300) }) { port in
            let client = try RawClient(port: port)
            client.write("GET /stream \(rest)\r\n")
            let answer = await client.readToEnd()
            #expect(answer.isClosed)
            #expect(answer.text.hasPrefix("\(version) 200 OK\r\n") && answer.text.lowercased().contains("\r\nconnection: close\r\n"))
            #expect(answer.text.hasSuffix("\r\n\r\nstreamed") == (version == "HTTP/1.0"), "\(answer.text)")
        }
    }

    @Test(
        "An answer to an HTTP/1.0 client that breaks off does not look complete, and a whole one does", arguments: ["/break", "/stream"],
        [false, true])
    func http10(path: String, isSecure: Bool) async throws {
        let certificate = isSecure ? try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: try TestPKI.root()) : nil
        try await BareListener.with(certificate: certificate) { port in
            let answer = try await ByteClient.exchange("GET \(path) HTTP/1.0\r\n\r\n", port: port, isSecure: isSecure)
            #expect((answer.failure != nil) == (path == "/break"), "\(answer)")
            if path == "/stream" { #expect(answer.text.hasSuffix("\r\n\r\nstreamed")) }
        }
    }
}
