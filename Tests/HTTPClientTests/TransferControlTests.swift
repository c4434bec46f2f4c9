import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@Suite(.tags(.sockets, .slow), .timeLimit(.minutes(5))) struct TransferControlTests {
    private static let piece = [UInt8](repeating: 1, count: 65_536)

    /// Answers /big with 200 pieces, and takes whole bodies.
    private static func site(_ versions: TestHTTPServer.Versions) async throws -> Site {
        try await Site.start(versions: versions) { request in
            switch request.path {
            case "/big": return TestResponse(length: nil) { index in index < 200 ? piece : nil }
            case "/endless": return TestResponse(length: nil) { _ in piece }
            default:
                var count = 0
                for try await part in request.body { count += part.count }
                return TestResponse(text: "\(count)")
            }
        }
    }

    /// Sends small requests; the first one's answer says that the driver has seen all messages before it.
    private func siblings(_ site: Site, _ policy: TrustPolicy, _ count: Int) async throws {
        for _ in 0..<count {
            var request = TransportRequest(url: try site.url("/small"), policy: policy)
            request.options.totalTimeout = .seconds(60)
            #expect(try await site.transport.send(request).body.collect(upTo: 100) == Array("0".utf8))
        }
    }

    @Test(
        "A suspended download stops on the wire, other requests go on beside it, and it is complete after it is resumed",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func download(versions: TestHTTPServer.Versions) async throws {
        let site = try await Self.site(versions)
        // One policy, so that all requests share its connections.
        let policy = try site.policy()
        let (control, received) = (TransferControl(), Shared(0))
        var request = TransportRequest(url: try site.url("/big"), policy: policy)
        request.options.control = control
        request.options.onDownload = { progress in received.value = progress.completed }
        let response = try await site.transport.send(request)
        // The reader is never the reason why the transfer stops.
        let reader = Task { try await response.body.reduce(into: 0) { $0 += $1.count } }
        for part in 1...3 {
            try #require(await eventually { received.value >= part * 1_000_000 })
            control.suspend()
            try await siblings(site, policy, 1)
            let stopped = received.value
            try await siblings(site, policy, 10)
            #expect(received.value == stopped)
            control.resume()
        }
        #expect(try await reader.value == 200 * 65_536)
        if case .http1AndHTTP2 = versions { #expect(site.server.counters.connections == 1) }
        await site.stop()
    }

    @Test(
        "A suspended upload stops on the wire, other requests go on beside it, and it is complete after it is resumed",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func upload(versions: TestHTTPServer.Versions) async throws {
        let site = try await Self.site(versions)
        // One policy, so that all requests share its connections.
        let policy = try site.policy()
        let (control, sent, made) = (TransferControl(), Shared(0), Shared(0))
        let parts = AsyncStream<[UInt8]>(unfolding: {
            let isPart = made.change { made in
                made += 1
                return made <= 200
            }
            return isPart ? Self.piece : nil
        })
        var request = TransportRequest(
            url: try site.url("/up"), method: .post, body: .stream(length: 200 * 65_536, RequestBodyStream(parts)),
            policy: policy)
        request.options.control = control
        request.options.onUpload = { progress in sent.value = progress.completed }
        let answer = Task { [request] in try await site.transport.send(request).body.collect(upTo: 100) }
        try #require(await eventually { sent.value >= 1_000_000 })
        control.suspend()
        try await siblings(site, policy, 1)
        let stopped = sent.value
        try await siblings(site, policy, 10)
        #expect(sent.value == stopped)
        #expect(stopped < 200 * 65_536)
        control.resume()
        #expect(try await answer.value == Array("\(200 * 65_536)".utf8))
        await site.stop()
    }

    @Test(
        "A request that is suspended before it is sent is not sent, and can be sent again",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1], [0, 5, 300_000])
    func beforeSending(versions: TestHTTPServer.Versions, size: Int) async throws {
        let paths = Shared<[String]>([])
        let site = try await Site.start(versions: versions) { request in
            paths.change { $0.append(request.path) }
            var count = 0
            for try await part in request.body { count += part.count }
            return TestResponse(text: "\(count)")
        }
        // One policy, so that all requests share its connections.
        let policy = try site.policy()
        let control = TransferControl()
        control.suspend()
        var request = TransportRequest(
            url: try site.url("/up"), method: size == 0 ? .get : .post,
            body: size == 0 ? .none : .bytes([UInt8](repeating: 1, count: size)),
            policy: policy)
        request.options.control = control
        // Over a new connection, and over one that is there.
        for _ in 0..<2 {
            let error = await transportError { [request] in try await site.transport.send(request) }
            #expect(error?.code == .suspended && error?.isSafeToRepeat == true)
            try await siblings(site, policy, 2)
        }
        #expect(!paths.value.contains("/up"))
        control.resume()
        #expect(try await site.transport.send(request).body.collect(upTo: 100) == Array("\(size)".utf8))
        #expect(paths.value.count { $0 == "/up" } == 1)
        await site.stop()
    }

    @Test("A stream that is suspended before it is sent, and cannot be read twice, waits on its connection")
    func suspendedStream() async throws {
        let site = try await Self.site(.http1)
        let policy = try site.policy()
        let (control, sent) = (TransferControl(), Shared(0))
        control.suspend()
        var request = TransportRequest(
            url: try site.url("/up"), method: .put,
            body: .stream(
                length: 65_536,
                RequestBodyStream(
                    AsyncStream { part in
                        part.yield(Self.piece)
                        part.finish()
                    })), policy: policy)
        request.options.control = control
        request.options.onUpload = { progress in sent.value = progress.completed }
        let answer = Task { [request] in try await site.transport.send(request).body.collect(upTo: 100) }
        try await siblings(site, policy, 5)
        #expect(sent.value == 0)
        control.resume()
        #expect(try await answer.value == Array("65536".utf8))
        await site.stop()
    }

    @Test("A suspended transfer keeps its connection for a minute unless the caller says otherwise")
    func defaultLimit() {
        #expect(TransferControl().limit == .seconds(60))
    }

    @Test(
        "A suspended transfer has no idle timeout, and ends when it was suspended for too long",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func limit(versions: TestHTTPServer.Versions) async throws {
        let site = try await Self.site(versions)
        // One policy, so that all requests share its connections.
        let policy = try site.policy()
        // The idle timeout is far shorter than the time that the transfer may be suspended.
        let control = TransferControl(limit: .milliseconds(1_500))
        var request = TransportRequest(url: try site.url("/endless"), policy: policy)
        request.options.control = control
        let response = try await site.transport.send(request)
        var body = response.body.makeAsyncIterator()
        _ = try await body.next()
        control.suspend()
        let error = await transportError { while try await body.next() != nil {} }
        #expect(error?.code == .idleTimeout)
        #expect(error?.description.contains("suspended") == true)
        #expect(error?.isSafeToRepeat == true)
        // Other requests go on.
        try await siblings(site, policy, 2)
        await site.stop()
    }

    @Test("Suspended endless streams of one HTTP/2 connection leave its window to other requests")
    func windows() async throws {
        let site = try await Self.site(.http1AndHTTP2)
        // One policy, so that all requests share its connections.
        let policy = try site.policy()
        let control = TransferControl()
        var request = TransportRequest(url: try site.url("/endless"), policy: policy)
        request.options.control = control
        var responses: [TransportResponse] = []
        for _ in 0..<4 { responses.append(try await site.transport.send(request)) }
        control.suspend()
        // More bytes than a connection's window, if any of them counted.
        for _ in 0..<10 {
            let big = try await site.transport.send(TransportRequest(url: try site.url("/big"), policy: policy))
            #expect(try await big.body.reduce(into: 0) { $0 += $1.count } == 200 * 65_536)
        }
        #expect(site.server.counters.connections == 1)
        control.resume()
        for response in responses {
            var body = response.body.makeAsyncIterator()
            for _ in 0..<100 { #expect(try await body.next() != nil) }
        }
        await site.stop()
    }

    @Test("The total timeout goes on while a transfer is suspended")
    func totalTimeout() async throws {
        let site = try await Self.site(.http1AndHTTP2)
        // One policy, so that all requests share its connections.
        let policy = try site.policy()
        let url = try site.url("/endless")
        // On a busy machine the time may be over before the request is sent.
        let isOver = await eventually {
            let control = TransferControl()
            var request = TransportRequest(url: url, policy: policy)
            request.options.control = control
            request.options.totalTimeout = .seconds(2)
            let error = await transportError { [request] in
                let response = try await site.transport.send(request)
                var body = response.body.makeAsyncIterator()
                control.suspend()
                while try await body.next() != nil {}
            }
            return error?.code == .totalTimeout && control.isSuspended
        }
        #expect(isOver)
        await site.stop()
    }

    @Test("A suspended transfer can be cancelled")
    func cancellation() async throws {
        let site = try await Self.site(.http1AndHTTP2)
        // One policy, so that all requests share its connections.
        let policy = try site.policy()
        let control = TransferControl()
        var request = TransportRequest(url: try site.url("/endless"), policy: policy)
        request.options.control = control
        let response = try await site.transport.send(request)
        control.suspend()
        let reader = Task { for try await _ in response.body {} }
        try await siblings(site, policy, 1)
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        control.resume()
        try await siblings(site, policy, 1)
        await site.stop()
    }

    @Test("A cancelled group ends its transfers with its error, and others go on")
    func group() async throws {
        struct Ended: Error {}
        let site = try await Self.site(.http1AndHTTP2)
        // One policy, so that all requests share its connections.
        let policy = try site.policy()
        let group = TransferGroup()
        var request = TransportRequest(url: try site.url("/endless"), policy: policy)
        request.options.group = group
        let (first, second) = (try await site.transport.send(request), try await site.transport.send(request))
        var other = request
        other.options.group = TransferGroup()
        let foreign = try await site.transport.send(other)
        group.cancel(with: Ended())
        site.transport.cancel(group)
        for response in [first, second] {
            await #expect(throws: Ended.self) { for try await _ in response.body {} }
        }
        let late = request
        await #expect(throws: Ended.self) { try await site.transport.send(late) }
        var body = foreign.body.makeAsyncIterator()
        for _ in 0..<100 { #expect(try await body.next() != nil) }
        await site.stop()
    }

    @Test("A waiting caller goes on when the control is resumed, and ends when it is cancelled")
    func waiting() async throws {
        let control = TransferControl()
        try await control.waitUntilResumed()
        control.suspend()
        let (first, second) = (Task { try await control.waitUntilResumed() }, Task { try await control.waitUntilResumed() })
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        control.resume()
        try await second.value
    }
}
