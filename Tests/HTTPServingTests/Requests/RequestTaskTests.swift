import ApproovTesting
import HTTPServing
import TestTags
import Testing

/// How the task of a request ends with its connection, on real sockets.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct RequestTaskTests {
    private static let hang = "POST /hang HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"

    @Test("A request is cancelled when its connection is reset")
    func reset() async throws {
        let notes = Shared<[String]>([])
        try await BareListener.with(notes: notes) { port in
            var client: RawClient? = try RawClient(port: port)
            client?.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n" + Self.hang)
            #expect(await eventually { notes.value == ["begun"] })
            // The system resets a connection that is closed with an unread answer.
            client = nil
            #expect(await eventually { notes.value == ["begun", "cancelled"] })
        }
    }

    @Test("A request on HTTP/2 is cancelled when the client resets its stream or closes the connection", arguments: [false, true])
    func stream(isReset: Bool) async throws {
        let notes = Shared<[String]>([])
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: nil)
        try await BareListener.with(certificate: leaf, notes: notes) { port in
            let client = try await FrameClient.connect(to: port)
            try await client.post("/hang")
            try await client.send("", endsStream: true)
            #expect(await eventually { notes.value == ["begun"] })
            if isReset { try await client.reset() } else { await client.close() }
            #expect(await eventually { notes.value == ["begun", "cancelled"] })
            await client.close()
        }
    }

    @Test("What a handler does after its answer is not cancelled when the connection or the stream closes", arguments: [false, true])
    func late(isHTTP2: Bool) async throws {
        let notes = Shared<[String]>([])
        let leaf = isHTTP2 ? try TestPKI.leaf(hosts: ["localhost"], issuer: nil) : nil
        try await BareListener.with(certificate: leaf, notes: notes) { port in
            if isHTTP2 {
                let client = try await FrameClient.connect(to: port)
                try await client.post("/late")
                try await client.send("", endsStream: true)
                #expect(await eventually { notes.value == ["answered"] })
                await client.close()
            } else {
                let answer = try await BareListener.answer(to: "POST /late", port: port)
                #expect(answer.hasSuffix("ok"))
                #expect(await eventually { notes.value == ["answered"] })
                #expect(try await BareListener.isHealthy(port))
            }
            notes.change { $0.append("go") }
            #expect(await eventually { notes.value.count == 3 })
            #expect(notes.value.last == "finished")
        }
    }

    @Test("A client that has ended its sending gets its answer")
    func halfClosed() async throws {
        try await BareListener.with { port in
            let client = try RawClient(port: port)
            client.write("POST /pause HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            client.endSending()
            let answer = await client.readToEnd()
            #expect(answer.text.hasPrefix("HTTP/1.1 200 ") && answer.text.hasSuffix("paused") && answer.isClosed)
        }
    }

    @Test("A request is cancelled when the drain time of a server that stops is over", arguments: [false, true])
    func drain(handlesOnEventLoop: Bool) async throws {
        let notes = Shared<[String]>([])
        var client: RawClient?
        try await BareListener.with(notes: notes, { $0.handlesOnEventLoop = handlesOnEventLoop }) { port in
            client = try RawClient(port: port)
            client?.write(Self.hang)
            #expect(await eventually { notes.value == ["begun"] })
        }
        #expect(notes.value == ["begun", "cancelled"])
        withExtendedLifetime(client) {}
    }
}
