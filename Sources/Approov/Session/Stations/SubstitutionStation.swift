import ApproovBase
import Attestation
import CertificatePinning
import HTTPClient
import HTTPTypes

/// Station 5: finds the placeholders of secure strings, and replaces them after the caller's policy has seen the request.
///
/// The caller's own request and URL always keep the placeholders: only the fields and the URL that go on the wire change.
struct SubstitutionStation: Sendable {
    /// The places for one host.
    private struct Places: Sendable {
        /// The texts before the placeholder, longest first.
        var headers: [HTTPField.Name: [String]] = [:]
        var queryParameters: Set<String> = []
    }

    /// The names of all headers that may carry a value, in lower case.
    let headerNames: Set<String>
    private let places: [String: Places]
    private let service: ApproovService?
    private let hooks: PolicyHooks?
    private let statusCase: TokenFetchStatus.LetterCase

    /// Reads the settings.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the session.
    ///   - service: The source of secure strings; nil without one.
    ///   - authorizer: The session's authorizer, whose headers cannot carry a secure string; nil without a service.
    /// - Throws: ``ApproovError`` with code `initializationError` when there are substitutions without a service, or in a header that
    ///   carries the token or that tokens are bound to.
    init(_ configuration: ApproovSessionConfiguration, service: ApproovService?, _ authorizer: TokenAuthorizer?) throws {
        var places: [String: Places] = [:]
        for substitution in configuration.substitutions {
            if let name = substitution.fields.keys.first(where: { authorizer?.names.all.contains($0) == true }) {
                throw ApproovError(
                    .initializationError,
                    "no secure string can be substituted in \(name): it carries the token, or the token is bound to the value that the app sets"
                )
            }
            for host in substitution.hosts {
                for (name, prefix) in substitution.fields {
                    places[host, default: Places()].headers[name, default: []].append(prefix)
                    places[host]?.headers[name]?.sort { $0.utf8.count > $1.utf8.count }
                }
                places[host, default: Places()].queryParameters.formUnion(substitution.queryParameters)
            }
        }
        guard places.isEmpty || service != nil else {
            throw ApproovError(.initializationError, "secure strings come from a service: give the session one, or no substitutions")
        }
        self.places = places
        self.service = service
        hooks = authorizer?.hooks
        statusCase = configuration.tokenHeader.statusCase
        headerNames = Set(places.values.flatMap { $0.headers.keys.map(\.canonicalName) })
    }

    /// Whether nothing is substituted, so that the station has nothing to do.
    var isOff: Bool { places.isEmpty }

    /// Finds the placeholders of a request and decides what takes their place; the request keeps them for now.
    ///
    /// - Parameters:
    ///   - draft: The request after station 4; on return, with its ``RequestDraft/substitutes``.
    ///   - step: The request as stations 2 and 3 got it.
    ///   - hop: The rules for its host.
    ///   - deadline: The end of the time for the request.
    /// - Throws: ``ApproovError`` with code `substitutionFailed` when the host is not protected, a placeholder cannot be a key, or a value
    ///   must not or cannot be sent; with the code of the attestation's failure when the policy does not send the request without the
    ///   string; `CancellationError` when the task is cancelled.
    func resolve(_ draft: inout RequestDraft, of step: RedirectStep, under hop: ResolvedHop, by deadline: RequestDeadline) async throws {
        guard let places = places[draft.url.host.name], let service else { return }
        var found = Placeholders()
        try collect(draft.fields, places, into: &found)
        if !step.hasLeftOrigin {
            let chosen = Self.chosenByServer(step)
            SubstitutedQuery(draft.url.target)?.forEach { name, value in
                guard places.queryParameters.contains(name), !value.isEmpty, !chosen.contains(value) else { return }
                found.queryKeys.insert(value)
                found.add(value, toQueryParameter: name)
            }
        }
        guard !found.keys.isEmpty else { return }
        guard draft.url.isSecure, let rule = hop.rule else {
            throw ApproovError(
                .substitutionFailed,
                "a Substitution names \(draft.url.host), but the configuration does not protect this host: add it with `approov api -add`")
        }
        // The app excluded the request from attestation.
        if rule.settings.attested, case .notAttested = draft.token { return }
        let source = try await source(for: found.keys, TokenKey(host: draft.url.host, entry: rule, binding: nil), service, draft, deadline)
        var substitutes = Substitutes(queryKeys: found.queryKeys, headers: found.headers, queryParameters: found.queryParameters)
        for key in found.keys {
            let result = try source.find(key)
            let decision =
                if let hooks {
                    try await hooks.decide(
                        result.result, forSecureString: key, in: hooks.names.request(draft.timedRequest, with: draft.fields))
                } else {
                    try await StandardPolicy().decide(result.result, forSecureString: key, in: nil)
                }
            if result.result.status == .badKey, decision == .fail, let place = found.places[key] { throw Self.malformedKey(in: place) }
            switch try decision.sendsWithout(result.result, hasValue: result.value != nil) {
            case true: substitutes.texts[key] = result.result.status.wireName(statusCase)
            case false: break
            case nil:
                guard !result.isOwn || !rule.settings.oblivious else {
                    throw ApproovError(
                        .substitutionFailed,
                        "the secure string \(key) was set by this app, and \(draft.url.host) is oblivious: the value could tell who calls")
                }
                guard let value = result.value else { break }
                guard value.utf8.count >= Substitutes.leastSecretBytes else {
                    throw ApproovError(
                        .substitutionFailed,
                        "the secure string \(key) has fewer than \(Substitutes.leastSecretBytes) bytes, too few to recognise it in a"
                            + " redirect: use a longer one")
                }
                substitutes.texts[key] = value
                substitutes.secrets.insert(Substitutes.Secret(key: key, value: value))
            }
        }
        draft.substitutes = substitutes
    }

    /// Puts the values in the place of the placeholders, in the request as it goes on the wire.
    ///
    /// - Parameters:
    ///   - draft: The request, as the caller's policy left it; on return, with the values.
    ///   - step: The request as stations 2 and 3 got it.
    /// - Throws: ``ApproovError`` with code `substitutionFailed`, which names the key, when a value is not valid in its place.
    func apply(to draft: inout RequestDraft, of step: RedirectStep) throws {
        guard !draft.substitutes.isEmpty, let places = places[draft.url.host.name] else { return }
        // The policy may have taken its time.
        if !draft.substitutes.secrets.isEmpty { try service?.checkIsGenuine() }
        // The policy may have added lines.
        var found = Placeholders()
        try collect(draft.fields, places, into: &found)
        let texts = draft.substitutes.texts
        if !found.headers.isEmpty {
            draft.fields = try HTTPFields(
                draft.fields.map { field in
                    guard let (prefix, key) = Self.placeholder(in: field, places), let text = texts[key] else { return field }
                    let value = prefix + text
                    guard HTTPField.isValidValue(value) else {
                        throw ApproovError(
                            .substitutionFailed,
                            "the value of the secure string \(key) has characters that a header may not have: change it at the authority, or"
                                + " with setSecureString")
                    }
                    return HTTPField(name: field.name, value: value)
                })
        }
        guard !step.hasLeftOrigin, var query = SubstitutedQuery(draft.url.text) else { return }
        let keys = draft.substitutes.queryKeys
        guard query.replace({ name, value in places.queryParameters.contains(name) && keys.contains(value) ? texts[value] : nil }) else {
            return
        }
        do {
            draft.url = try TransportURL(query.text)
        } catch {
            throw ApproovError(.substitutionFailed, "with the secure strings in its query, the URL cannot be requested", cause: error)
        }
    }

    /// The values in the query of a redirect that no earlier query had: the server chose them, and they are no placeholders.
    ///
    /// It may repeat at the same origin what it was sent.
    private static func chosenByServer(_ step: RedirectStep) -> Set<String> {
        guard step.isRedirected else { return [] }
        var values: Set<String> = []
        SubstitutedQuery(step.url.target)?.forEach { _, value in values.insert(value) }
        return values.subtracting(step.substitutes.queryKeys)
    }

    /// The placeholders of one request.
    private struct Placeholders {
        var keys: [String] = []
        /// Where each key was found first.
        var places: [String: Place] = [:]
        var queryKeys: Set<String> = []
        var headers: [String] = []
        var queryParameters: [String] = []

        mutating func add(_ key: String, toHeader name: HTTPField.Name) {
            add(key, in: .header(name))
            headers.append(name.rawName)
        }

        mutating func add(_ key: String, toQueryParameter name: String) {
            add(key, in: .queryParameter(name))
            if !queryParameters.contains(name) { queryParameters.append(name) }
        }

        private mutating func add(_ key: String, in place: Place) {
            guard places[key] == nil else { return }
            places[key] = place
            keys.append(key)
        }
    }

    /// Where a placeholder is.
    private enum Place {
        case header(HTTPField.Name)
        case queryParameter(String)
    }

    /// The error for a text that cannot be a key; it does not show the text, which may be a secret.
    private static func malformedKey(in place: Place) -> ApproovError {
        let name =
            switch place {
            case .header(let name): "the header \(name)"
            case .queryParameter(let name): "the query parameter \(LoggableText.name(name))"
            }
        return ApproovError(
            .substitutionFailed,
            "\(name) has a value that cannot be the key of a secure string, which is \(SecureStringRules.keyRule): write a key there, or"
                + " leave the place out of the Substitution")
    }

    /// Finds the placeholders in the header fields.
    ///
    /// - Throws: ``ApproovError`` with code `substitutionFailed` when a header with a placeholder has two lines.
    private func collect(_ fields: HTTPFields, _ places: Places, into found: inout Placeholders) throws {
        for field in fields {
            guard let (_, key) = Self.placeholder(in: field, places) else { continue }
            guard fields.count(where: { $0.name == field.name }) == 1 else {
                throw ApproovError(
                    .substitutionFailed, "the request has the header \(field.name) twice, and a secure string fits only one: remove one"
                )
            }
            found.add(key, toHeader: field.name)
        }
    }

    /// The text before a field's placeholder, and the key; nil if the field has none.
    private static func placeholder(in field: HTTPField, _ places: Places) -> (prefix: String, key: String)? {
        guard let prefixes = places.headers[field.name], let prefix = prefixes.first(where: { field.value.hasPrefix($0) }) else {
            return nil
        }
        let key = String(field.value.dropFirst(prefix.count))
        return key.isEmpty ? nil : (prefix, key)
    }

    /// Returns the strings; waits for an attestation no longer than for the host itself.
    private func source(
        for keys: [String], _ host: TokenKey, _ service: ApproovService, _ draft: RequestDraft, _ deadline: RequestDeadline
    ) async throws -> SecureStringSource {
        guard case .unknown = service.strings.verdict else { return try await service.secureStrings(for: keys, preferring: host) }
        let timeout = min(try deadline.remaining, draft.idleTimeout)
        let source = await service.time.withTimeout(timeout, in: deadline.life) { () -> Result<SecureStringSource, ApproovError> in
            do throws(ApproovError) {
                return .success(try await service.secureStrings(for: keys, preferring: host))
            } catch {
                return .failure(error)
            }
        }
        try Task.checkCancellation()
        try deadline.life?.checkGoOn()
        guard let source else {
            let late = ApproovError(
                .networkingError, "no attestation ended within the request's timeout; try again with a longer one")
            return SecureStringSource(attestation: TokenFetchResult(status: .poorNetwork, error: late), predefined: nil, own: nil)
        }
        return try source.get()
    }
}
