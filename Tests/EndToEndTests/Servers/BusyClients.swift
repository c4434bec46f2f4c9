import ApproovTesting

/// One of ``BusyClients``, on its own connection.
protocol BusyClient: Sendable {
    /// Makes the next request.
    /// - Returns: The request, and whether its answer was correct; nil if no server accepts connections any more.
    /// - Throws: The error that prevented a request.
    mutating func request() async throws -> (id: String, isAnswered: Bool)?

    /// Closes its connection.
    func end() async
}

/// Clients that each make one request after another until the test stops them.
struct BusyClients<Client: BusyClient> {
    /// The outcome of the requests.
    struct Outcome {
        /// The requests with a correct answer.
        var answered: Set<String> = []
        /// The failed requests, whose clients cannot know whether they were executed.
        var failed: Set<String> = []
    }

    private let client: @Sendable (Int) async throws -> Client
    private let isOver = Shared(false)

    /// - Parameter client: Makes a client from its number.
    init(_ client: @escaping @Sendable (Int) async throws -> Client) { self.client = client }

    /// Runs the clients.
    /// - Parameters:
    ///   - count: The number of clients.
    ///   - answers: The number of answers after which the body runs.
    ///   - body: Runs while the clients go on; they stop when it returns.
    /// - Returns: The outcome of the requests.
    /// - Throws: The error of the body or of a client; `TestFailure` if a client ends early.
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
