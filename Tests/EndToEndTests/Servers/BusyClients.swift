import ApproovTesting

/// One of ``BusyClients``, on its own connection.
protocol BusyClient: Sendable {
    /// Makes the next request.
    /// - Returns: The request, and whether it was answered as it should be; nil when no server takes connections any more.
    /// - Throws: What keeps a request from being made.
    mutating func request() async throws -> (id: String, isAnswered: Bool)?

    /// Closes its connection.
    func end() async
}

/// Clients that make one request after the other until they are told to stop.
struct BusyClients<Client: BusyClient> {
    /// What became of the requests.
    struct Outcome {
        /// Answered as they should be.
        var answered: Set<String> = []
        /// Failed, so that their clients cannot know whether they were executed.
        var failed: Set<String> = []
    }

    private let client: @Sendable (Int) async throws -> Client
    private let isOver = Shared(false)

    /// - Parameter client: Makes a client from its number.
    init(_ client: @escaping @Sendable (Int) async throws -> Client) { self.client = client }

    /// Lets clients work.
    /// - Parameters:
    ///   - count: How many.
    ///   - answers: How many answers there must be.
    ///   - body: What happens then; the clients work on until it returns.
    /// - Returns: What became of the requests.
    /// - Throws: What the body or a client throws; `TestFailure` when a client ends earlier.
    func work(_ count: Int, untilAnswers answers: Int, _ body: () async throws -> Void) async throws -> Outcome {
        let (enough, isEnough) = AsyncStream.makeStream(of: Void.self)
        let outcome = Shared(Outcome())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<count {
                group.addTask {
                    defer { isEnough.finish() }
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
                guard outcome.value.answered.count >= answers else {
                    throw TestFailure("a client ended before the server was told to stop")
                }
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

    private func run(_ number: Int, _ report: (String, Bool) -> Void) async throws {
        var client = try await client(number)
        do {
            while !isOver.value, let outcome = try await client.request() { report(outcome.id, outcome.isAnswered) }
        } catch {
            await client.end()
            throw error
        }
        await client.end()
    }
}
