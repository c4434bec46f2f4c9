/// Station 0: waits while the app holds the session's requests.
struct GateStation: Sendable {
    /// The maximum number of times that a request is prepared again because the gate closed meanwhile.
    private static let maximumAttempts = 100

    /// The gate; nil for a session without one.
    let gate: RequestGate?

    /// Waits until a request may pass, before something is made for it that would age meanwhile; at once without a gate.
    ///
    /// - Parameters:
    ///   - deadline: The end of the time for the request.
    ///   - observation: The request, whose wipe ends the wait.
    /// - Throws: Errors of the gate.
    func wait(by deadline: RequestDeadline, _ observation: RequestObservation) async throws {
        guard let gate, !gate.isOpen, !gate.isHolder else { return }
        try await observation.waiting { try await gate.enter(by: deadline) }
    }

    /// Lets a request pass, and tells the gate when it is under way.
    ///
    /// - Parameters:
    ///   - gate: The gate.
    ///   - deadline: The end of the time for the request.
    ///   - observation: The request, whose wipe ends the wait.
    ///   - send: Takes the request through the other stations; with the ticket to use, nil if the gate does not count the request.
    /// - Returns: The request as sent, with its response.
    /// - Throws: Errors of the gate and of `send`.
    func pass(
        _ gate: RequestGate, by deadline: RequestDeadline, _ observation: RequestObservation,
        _ send: (GateTicket?) async throws -> SentRequest
    ) async throws -> SentRequest {
        for _ in 0..<Self.maximumAttempts {
            // The barrier's own requests must not wait for the barrier, nor those that its work begins to wait for meanwhile.
            try await wait(by: deadline, observation)
            if gate.isHolder { return try await send(nil) }
            let ticket = GateTicket(gate)
            do {
                let sent = try await send(ticket)
                if observation.isStreamed { ticket.end() }
                return sent
            } catch is GateTicket.GateClosed {
                continue
            } catch {
                ticket.end()
                throw error
            }
        }
        throw ApproovError(.networkingError, "the gate closed again and again while the request was prepared; try again")
    }
}
