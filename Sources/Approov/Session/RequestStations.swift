import ApproovBase
import Foundation
import FoundationNetworking
import HTTPClient

/// The stations of a request, from the app to the network, in their order.
///
/// ``pass(_:by:_:)`` takes one step of a request through all of them; every redirect and every retry is another pass. Each station is a
/// type with one job, and one that is switched off costs nothing.
///
/// A pass begins with the caller's own request, or with the one that a redirect asks for, without what stations 2 to 6 added to an earlier
/// step. Before a byte of the request leaves stations 4 to 8, stations 4 to 6 have run against the configuration in force at that moment.
final class RequestStations: Sendable {
    /// The maximum number of attempts to prepare a request while the configuration keeps changing, or the app keeps suspending the task;
    /// then the request is refused.
    private static let maximumAttempts = 4

    let policies: PolicySource
    let perRequestHeaders: PerRequestHeaderStation  // after 0 and the app's list of 1
    let life: SessionLife
    let gate: GateStation  // 0
    let allowList: AllowListStation  // 1
    let defaults: DefaultsStation  // 2
    let credential: CredentialStation?  // end of 2
    let interceptors: InterceptorStation  // 3
    let token: TokenStation  // 4
    let substitution: SubstitutionStation  // 5
    let policy: PolicyStation  // after 5
    let signing: SigningStation  // 6
    let way: WayStation  // 7
    let transport: TransportStation  // 8
    let response: ResponseStation  // 9
    let validation: ValidationStation  // within 9
    /// Whether a request waits only where a wipe can end the wait without the cancellation of its task.
    let cancelsWaits: Bool
    private let recheck: ConfigurationRecheck

    init(
        policies: PolicySource, perRequestHeaders: PerRequestHeaderStation, life: SessionLife, gate: GateStation,
        allowList: AllowListStation, defaults: DefaultsStation, credential: CredentialStation?, interceptors: InterceptorStation,
        token: TokenStation,
        substitution: SubstitutionStation, policy: PolicyStation, signing: SigningStation, way: WayStation, transport: TransportStation,
        response: ResponseStation, validation: ValidationStation, recheck: ConfigurationRecheck
    ) {
        self.policies = policies
        self.perRequestHeaders = perRequestHeaders
        self.life = life
        self.gate = gate
        self.allowList = allowList
        self.defaults = defaults
        self.credential = credential
        self.interceptors = interceptors
        self.token = token
        self.substitution = substitution
        self.policy = policy
        self.signing = signing
        self.way = way
        self.transport = transport
        self.response = response
        self.validation = validation
        self.recheck = recheck
        cancelsWaits = Self.cancelsWaits(transport, interceptors, substitution, policy, signing)
    }

    /// Makes the same stations with further interceptors and validators after the others.
    init(_ other: RequestStations, adding further: [any RequestInterceptor], _ validators: [any ResponseValidating]) {
        policies = other.policies
        perRequestHeaders = other.perRequestHeaders
        life = other.life
        gate = other.gate
        allowList = other.allowList
        defaults = other.defaults
        credential = other.credential
        interceptors = InterceptorStation(interceptors: other.interceptors.interceptors + further, gate: other.gate.gate)
        token = other.token
        substitution = other.substitution
        policy = other.policy
        signing = other.signing
        way = other.way
        transport = other.transport
        response = other.response.adding(further)
        validation = ValidationStation(other.validation.validators + validators)
        recheck = other.recheck
        cancelsWaits = Self.cancelsWaits(transport, interceptors, substitution, policy, signing)
    }

    private static func cancelsWaits(
        _ transport: TransportStation, _ interceptors: InterceptorStation, _ substitution: SubstitutionStation, _ policy: PolicyStation,
        _ signing: SigningStation
    ) -> Bool {
        transport.transport is any CancellableTransport && interceptors.waitsForCredentialsAtMost && substitution.isOff && policy.isOff
            && signing.isOff
    }

    /// Takes one step of a request through the stations, up to its response.
    ///
    /// - Parameters:
    ///   - step: The caller's own request, or the one that follows a redirect.
    ///   - deadline: The end of the time for the request with its redirects and retries.
    ///   - observation: The limits and observers of the transfer.
    /// - Returns: The request as sent, with its response.
    /// - Throws: ``ApproovError``, or an error of the transport, when the step fails; `CancellationError` when the task is cancelled.
    func pass(
        _ step: RedirectStep, by deadline: RequestDeadline, _ observation: RequestObservation
    ) async throws -> SentRequest {
        // 0 gate: waits while the session is paused. It runs first, so that nothing ages while it waits.
        guard let gate = gate.gate else { return try await passOn(step, by: deadline, observation, nil) }
        return try await self.gate.pass(gate, by: deadline, observation) { ticket in
            try await passOn(step, by: deadline, observation, ticket)
        }
    }

    /// Takes one step of a request through the stations after the gate.
    private func passOn(
        _ step: RedirectStep, by deadline: RequestDeadline, _ observation: RequestObservation, _ ticket: GateTicket?
    ) async throws -> SentRequest {
        try life.checkGoOn()
        // A suspended task sends nothing more, for example after a redirect.
        if let control = observation.control, control.isSuspended { try await wait(for: control, by: deadline, observation) }

        // 1 allow-list, and 2 defaults
        var (hop, prepared) = try begin(step, observation.flight)

        // 3 interceptors
        if !interceptors.isEmpty {
            if !interceptors.waitsForCredentialsAtMost {
                try await interceptors.adapt(&prepared, by: deadline, hasLeftOrigin: step.hasLeftOrigin, observation.call)
            } else if let start = try interceptors.addAtOnce(to: &prepared, hasLeftOrigin: step.hasLeftOrigin, observation.call) {
                prepared = try await observation.waiting { [interceptors, prepared] in
                    var draft = prepared
                    try await interceptors.adapt(
                        &draft, by: deadline, from: start, hasLeftOrigin: step.hasLeftOrigin, observation.call)
                    return draft
                }
            }
        }
        try defaults.finish(&prepared)
        if let probe = observation.probe { probe.note(prepared, of: step, observation.flight) }

        var isRechecked = false
        var isTokenReplaced = false
        var liveKey = LiveKey()
        var attempt = 0
        while attempt < Self.maximumAttempts {
            attempt += 1
            // The app's code at stations 4 to 6 may wait for a barrier, which must then not wait for this request.
            ticket?.withdraw()

            // 7 way, its first half: keys may have to be fetched. That comes here, so that what stations 4 to 6 add does not age meanwhile.
            if let keys = way.liveKeys(under: hop) {
                liveKey = try await observation.waiting { [liveKey] in try await liveKey.fetched(from: keys, by: deadline) }
            }

            // Each attempt adds to a copy, so that it begins with the request as station 3 left it.
            var draft = prepared

            observation.call?.inject(into: &draft, of: step, isDirect: !way.isOblivious(under: hop))

            // 4 token: bound to the request in its present form.
            if try !token.authorizeFromCache(&draft, of: step, under: hop) {
                do {
                    draft = try await observation.waiting { [draft, hop] in
                        var draft = draft
                        try await self.token.authorize(&draft, of: step, under: hop, by: deadline, observation.flight)
                        return draft
                    }
                } catch let error as ApproovError where error.code == .permanentError && !hop.policy.areInForce {
                    // The refusal brought a newer configuration, which may ask for no token.
                    hop = try allowedHop(of: step)
                    continue
                }
            }
            if let probe = observation.probe { probe.noteAuthorized(draft) }
            // Each of the next stations may wait, and the token ages meanwhile.
            let endOfToken = substitution.isOff && policy.isOff && signing.isOff ? nil : token.endOfUse(of: draft.token)

            // 5 substitutions: secure strings for the placeholders in headers and query.
            if !substitution.isOff { try await substitution.resolve(&draft, of: step, under: hop, by: deadline) }

            // The caller's policy sees the request, and may change it, before it is signed.
            if !policy.isOff {
                try await policy.didPrepare(&draft)
                try defaults.finish(&draft)
            }

            // 5 substitutions, its second half: the policy has seen the placeholders, and the values take their place.
            if !substitution.isOff { try substitution.apply(to: &draft, of: step) }

            if let probe = observation.probe { probe.noteFinished(draft) }

            // 6 signature: over exactly what goes on the wire.
            if !signing.isOff { try await signing.sign(&draft, under: hop, by: deadline) }

            // Stations 4 to 6 may have waited, and a token may have brought a newer configuration. Then they run again under that one.
            guard hop.policy.areInForce else {
                hop = try allowedHop(of: step)
                continue
            }
            // A server would refuse a token that expired meanwhile. Once, because the next stations may ask the user each time.
            if !isTokenReplaced, attempt < Self.maximumAttempts, token.isPast(endOfToken) {
                isTokenReplaced = true
                continue
            }
            // The task may have been suspended meanwhile. What stations 4 to 6 added ages while it is.
            if let control = observation.control, control.isSuspended {
                try await waitAgain(for: control, by: deadline, observation, ticket)
                hop = try allowedHop(of: step)
                attempt -= 1
                continue
            }
            do {
                // 0 gate, its second half: stations 3 to 6 may have waited for a barrier. Until here no barrier waits for this request.
                try ticket?.begin()

                // 7 way
                let route = try way.route(for: step, under: hop, liveKey: liveKey.key)

                // 8 transport
                let request = try draft.transportRequest(
                    under: hop, by: deadline, observation, group: life.transfers,
                    proxy: defaults.defaults.proxy(isSecure: route?.relay.isSecure ?? draft.url.isSecure),
                    // The gateway connects to the host of a request over a relay.
                    refusesPrivateAddresses: allowList.refusesPrivateAddresses && route == nil)
                if let probe = observation.probe { probe.noteSent(request.headerFields) }
                // Stations 3 to 6 may have waited, and an interceptor may ignore that its task is cancelled.
                try life.checkGoOn()
                if let flight = observation.flight {
                    // An interceptor or the policy may have changed the path.
                    flight.visit(draft.url)
                    try flight.check()
                }
                observation.call?.willSend(request, isAttested: draft.token.attached != nil, isOblivious: route != nil)
                let received =
                    if let route {
                        try await send(request, over: route, observation)
                    } else {
                        try await transport.transport.send(request)
                    }
                observation.call?.didReceive(received)

                // 9 response: RequestPerformer follows redirects, has station 4 renew a rejected token, and asks validators and retriers.
                return SentRequest(
                    response: received, to: step, prepared: prepared, draft: draft,
                    demandsTLS: hop.isEvaluated || token.hasToken(draft.fields), isOblivious: route != nil,
                    ticket: observation.isStreamed ? nil : ticket)
            } catch let error as TransportError where error.code == .suspended && draft.body.canBeSentAgain {
                // The task was suspended while the transport connected. Nothing was sent.
                if let control = observation.control { try await waitAgain(for: control, by: deadline, observation, ticket) }
                hop = try allowedHop(of: step)
                attempt -= 1
            } catch let error as TransportError where error.code == .rulesChanged && draft.body.canBeSentAgain {
                // A newer configuration came into force while the transport connected. Nothing was sent.
                hop = try allowedHop(of: step)
            } catch  where hop.rule != nil && !isRechecked && ConfigurationRecheck.mayHelp(after: error) {
                // The server's keys may have changed, and a newer signed configuration may already contain them.
                isRechecked = true
                try await observation.waiting { [recheck] in try await recheck.run(by: deadline) }
                let newest = try policies.resolve(step.url.host)
                guard ConfigurationRecheck.allowsAnotherAttempt(of: draft, after: error, under: newest, insteadOf: hop) else {
                    throw ConfigurationRecheck.explained(error, isOwnRoute: false)
                }
                hop = newest
                try allowList.check(step, under: hop)
            } catch RelayExchange.Refusal.key {
                guard let keys = way.liveKeys(under: hop) else {
                    throw ConfigurationRecheck.explained(RelayExchange.Refusal.key, isOwnRoute: hop.rule == nil)
                }
                liveKey = try await observation.waiting { [liveKey, draft] in
                    try await liveKey.renewed(from: keys, for: draft, by: deadline)
                }
            } catch let error as TransportError where !draft.method.isIdempotent {
                // The caller's method may have been idempotent: this one counts, and only the transport knows what of it was sent.
                throw ApproovError(error)
            }
        }
        throw ApproovError(
            .networkingError,
            "the configuration changed again and again, or the task was suspended, while the request was prepared; try again")
    }

    /// Waits until the app resumes the request's task, of which nothing was sent yet.
    ///
    /// - Throws: `GateClosed` for a request with a ticket, which passes the gate again once its task resumes.
    private func waitAgain(
        for control: TransferControl, by deadline: RequestDeadline, _ observation: RequestObservation, _ ticket: GateTicket?
    ) async throws {
        if let ticket {
            ticket.end()
            throw GateTicket.GateClosed()
        }
        try await wait(for: control, by: deadline, observation)
    }

    /// Waits until the app resumes the request's task.
    private func wait(for control: TransferControl, by deadline: RequestDeadline, _ observation: RequestObservation) async throws {
        try await observation.waiting { try await deadline.limit { try await control.waitUntilResumed() } }
    }

    /// Sends a request over a relay.
    ///
    /// That takes several transfers and waits: one task has them all, and each read of the body has its own.
    private func send(
        _ request: TransportRequest, over route: KeyedRoute, _ observation: RequestObservation
    ) async throws -> TransportResponse {
        guard let cancellation = observation.cancellation else {
            return try await transport.send(request, over: route, isStreamed: observation.isStreamed)
        }
        var request = request
        request.options.cancellation = nil
        return try await cancellation.runInTask { [transport, request] in
            try await transport.send(request, over: route, isStreamed: observation.isStreamed)
        }.cancelled(by: cancellation)
    }

    /// Takes one step of a request through stations 1 and 2.
    func begin(_ step: RedirectStep, _ flight: RequestFlight?) throws -> (hop: ResolvedHop, draft: RequestDraft) {
        // 1 allow-list: before any I/O.
        let hop = try allowedHop(of: step)

        // 2 defaults. A wipe must find the request before it reads the host's cookies.
        flight?.visit(step.url)
        var draft = try defaults.draft(of: step)
        // The cookies may be those of another user.
        try flight?.check()
        if let credential { try credential.apply(to: &draft, of: step, flight) }
        return (hop, draft)
    }

    /// Looks up the rules in force for a step, and checks them against the allow-list.
    private func allowedHop(of step: RedirectStep) throws -> ResolvedHop {
        let hop = try policies.resolve(step.url.host)
        try allowList.check(step, under: hop)
        return hop
    }
}
