import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes

/// Clients that post numbered requests one after the other, each on its own connection, until they are told to stop.
struct BusyClients {
    /// What became of the requests.
    struct Outcome {
        /// Answered as they should be.
        var answered: Set<String> = []
        /// Failed, so that their clients cannot know whether they were executed.
        var failed: Set<String> = []
    }

    let url: String
    let root: String
    let contentType: String
    private let isOver = Shared(false)

    init(url: String, root: String, contentType: String = "text/plain") {
        (self.url, self.root, self.contentType) = (url, root, contentType)
    }

    /// Lets clients work.
    /// - Parameters:
    ///   - count: How many.
    ///   - answers: How many answers there must be.
    ///   - body: What happens then; the clients work on until it returns.
    /// - Returns: What became of the requests.
    /// - Throws: What the body throws.
    func work(_ count: Int, untilAnswers answers: Int, _ body: () async throws -> Void) async throws -> Outcome {
        let (enough, isEnough) = AsyncStream.makeStream(of: Void.self)
        let outcome = Shared(Outcome())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<count {
                group.addTask {
                    try await self.run(client) { id, isAnswered in
                        let total = outcome.change {
                            if isAnswered { $0.answered.insert(id) } else { $0.failed.insert(id) }
                            return $0.answered.count
                        }
                        if total >= answers { isEnough.finish() }
                    }
                }
            }
            for await _ in enough {}
            do {
                try await body()
            } catch {
                isOver.value = true
                throw error
            }
            isOver.value = true
            try await group.waitForAll()
        }
        return outcome.value
    }

    private func run(_ client: Int, _ report: (String, Bool) -> Void) async throws {
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root))
        var options = TransferOptions()
        options.isIdempotent = false
        var number = 0
        while !isOver.value {
            number += 1
            let id = "\(client)-\(number)"
            do {
                let response = try await transport.send(
                    TransportRequest(
                        url: try TransportURL(url), method: .post, headerFields: [.contentType: contentType], body: .bytes(Array(id.utf8)),
                        policy: policy, options: options))
                let body = try await response.body.collect(upTo: 1_000)
                report(id, response.status == 200 && String(decoding: body, as: UTF8.self) == id)
            } catch {
                report(id, false)
            }
        }
    }
}
