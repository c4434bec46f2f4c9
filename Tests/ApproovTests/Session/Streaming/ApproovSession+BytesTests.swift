import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import Testing

@testable import Approov

/// The beginning of a body that its reader refuses.
@Suite struct ApproovSessionBytesTests {
    private let world: World
    private let holder: CredentialHolder
    private let session: ApproovSession
    /// Opens when all that comes has been read.
    private let isRead = Gate()

    /// Answers with four bytes, and then nothing until the transfer is cancelled.
    init() throws {
        world = try World()
        holder = try CredentialHolder("Bearer alice")
        var configuration = ApproovSessionConfiguration()
        configuration.credential = .header("Authorization", holder, for: [try HostPattern("api.test")])
        session = try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: world.service,
            trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: configuration)
        world.api.value = { [isRead] request in
            let isBegun = Shared(false)
            let parts = AsyncThrowingStream<[UInt8], any Error> {
                guard isBegun.value else {
                    isBegun.value = true
                    return Array("busy".utf8)
                }
                isRead.open()
                try await waitForCancellation()
            }
            return TransportResponse(status: 503, url: request.url, body: ResponseBody(parts))
        }
    }

    @Test("Reading ends with its time, even if the body goes on")
    func slow() async throws {
        let (bytes, _) = try await session.bytes(for: URLRequest("https://api.test/"))
        let isOver = Gate()
        let reading = Task { [session] in
            defer { isOver.open() }
            return try await session.beginning(of: bytes, upTo: 100, within: .seconds(1))
        }
        try await isRead.wait()
        #expect(
            await eventually {
                world.clock.advance(by: .seconds(1))
                return isOver.isOpen
            })
        #expect(try await reading.value == Data("busy".utf8))
    }

    @Test("Reading ends with its limit, and with the cancellation of the task")
    func limit() async throws {
        let (bytes, _) = try await session.bytes(for: URLRequest("https://api.test/"))
        #expect(try await session.beginning(of: bytes, upTo: 3, within: .seconds(1)) == Data("bus".utf8))
        let (more, _) = try await session.bytes(for: URLRequest("https://api.test/"))
        let reading = Task { [session] in try await session.beginning(of: more, upTo: 100, within: .seconds(1)) }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
    }

    @Test("A wipe of the request ends the reading, and no byte of the user before reaches the caller")
    func wiped() async throws {
        let (bytes, _) = try await session.bytes(for: URLRequest("https://api.test/"))
        let reading = Task { [session] in try await session.beginning(of: bytes, upTo: 100, within: .seconds(1)) }
        try holder.update("Bearer bob")
        await #expect(throws: CancellationError.self) { try await reading.value }
    }
}
