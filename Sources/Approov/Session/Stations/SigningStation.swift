import ApproovBase
import Attestation
import Foundation
import HTTPClient
import HTTPTypes
import MessageSignatures
import Synchronization

/// Station 6: signs a request that carries a token, over exactly what the transport sends (RFC 9421).
struct SigningStation: Sendable {
    /// What a session that signs needs; nil for one that does not.
    private struct Setup: Sendable {
        let signing: MessageSigning
        let service: ApproovService
        /// The header fields to cover where present, before Content-Digest.
        let fields: [HTTPField.Name]
        /// The headers that tokens are bound to.
        let binding: [HTTPField.Name]
        let lifetime: Int64
    }

    private let setup: Setup?
    private let time: any TimeSource

    /// Checks the settings.
    ///
    /// - Parameters:
    ///   - configuration: The session's settings.
    ///   - service: The service with the keys; nil for none.
    ///   - names: The names of the token's headers; nil without a service.
    ///   - time: The clock.
    /// - Throws: ``ApproovError`` with code `initializationError` when the settings contradict each other, or the keys are not available.
    init(_ configuration: ApproovSessionConfiguration, service: ApproovService?, names: TokenHeaderNames?, time: any TimeSource) throws {
        self.time = time
        guard let signing = configuration.signing else {
            setup = nil
            return
        }
        guard let service, let names else {
            throw ApproovError(.initializationError, "a session without a service has no key to sign requests with: give it a service")
        }
        guard configuration.obliviousRoute == nil, !configuration.allRequestsMustBeOblivious else {
            throw ApproovError(
                .initializationError,
                "a signature names the installation, so a session with an oblivious route does not sign: leave signing nil, or make two"
                    + " sessions")
        }
        guard !signing.keys.contains(.installation) || service.installationSigner != nil else {
            throw ApproovError(.initializationError, ApproovService.cannotSign)
        }
        guard [signing.installationKeyID, signing.accountKeyID].allSatisfy({ $0.map(Self.isKeyID) ?? true }) else {
            throw ApproovError(.initializationError, "a key ID of a signature must be 1 to 256 printable ASCII characters")
        }
        guard (1...3_600).contains(signing.lifetime.components.seconds), signing.lifetime.components.attoseconds == 0 else {
            throw ApproovError(.initializationError, "the lifetime of signatures must be whole seconds from 1 to 3,600")
        }
        var fields: [HTTPField.Name] = []
        let usual = [names.token, names.traceID, .authorization, .contentLength, .contentType].compactMap { $0 }
        // The token may be in Authorization, and a caller may name what is covered anyway.
        for name in try usual + signing.additionalFields.map(Self.coveredName) where !fields.contains(name) { fields.append(name) }
        setup = Setup(
            signing: signing, service: service, fields: fields, binding: names.binding, lifetime: signing.lifetime.components.seconds)
    }

    /// Whether the session does not sign, so that the station has nothing to do.
    var isOff: Bool { setup == nil }

    /// Signs a request, unless it carries no token.
    ///
    /// - Parameters:
    ///   - draft: The request; on return, with its signature and with the fields that it covers.
    ///   - hop: The rules for its host.
    ///   - deadline: The end of the time for the request.
    /// - Throws: ``ApproovError`` with code `signingFailed` when the request must not or cannot be signed, and `timedOut` when the time is
    ///   over; `TransportError` with code `requestBodyFailed` when a file cannot be read; `CancellationError` when the task is cancelled.
    func sign(_ draft: inout RequestDraft, under hop: ResolvedHop, by deadline: RequestDeadline) async throws {
        guard let setup, let token = draft.token.attached else { return }
        guard hop.rule?.settings.oblivious != true else {
            throw ApproovError(
                .signingFailed,
                "\(draft.url.host) is called over Oblivious HTTP, and a signature would name the installation: call it with a session that"
                    + " does not sign")
        }
        // A token that the app allowed to be unbound has nothing that could change.
        let bound = token.key.payHash == nil ? [] : setup.binding.map { draft.fields[values: $0] }
        try await describeContent(&draft, setup.signing, by: deadline)
        for (name, values) in zip(setup.binding, bound) where draft.fields[values: name] != values {
            throw ApproovError(
                .signingFailed,
                "the token is bound to \(name), and a request that is signed gets another \(name): give the header the value that the"
                    + " session sends (SHA-256 for Content-Digest), or bind tokens to another header")
        }
        do {
            let message = SignableMessage.request(
                try SignableRequest(method: draft.method.rawValue, target: TargetURI(draft.url.text), fields: draft.fields))
            var parameters = SignatureParameters(Self.components(of: draft.fields, setup.fields))
            var digests: [String] = []
            let now = Int64(time.date.timeIntervalSince1970.rounded(.down))
            for key in setup.signing.keys {
                let signer = try setup.service.signer(key, accountKey: token.accountKey)
                // Set again for each key, these stay in the order in which they were set first.
                parameters.algorithm = signer.algorithm.rawValue
                parameters.created = now
                parameters.expires = now + setup.lifetime
                parameters.keyID = key == .installation ? setup.signing.installationKeyID : setup.signing.accountKeyID
                let signature = try await signer.signature(of: message, label: key.label, parameters: parameters)
                try signature.add(to: &draft.fields)
                if setup.signing.sendsBaseDigest { digests.append(signature.base.debugDigest) }
            }
            if !digests.isEmpty { draft.fields[values: SignatureBase.debugFieldName] = digests }
        } catch {
            throw Self.explained(error)
        }
    }

    /// Returns the error for the caller: an ``ApproovError`` and a `CancellationError` as they are, and any other as a cause.
    static func explained(_ error: any Error) -> any Error {
        guard !(error is CancellationError), !(error is ApproovError) else { return error }
        return ApproovError(.signingFailed, "the message cannot be signed, and nothing was sent; see the cause", cause: error)
    }

    /// Sets Content-Length as the transport sends it, and Content-Digest.
    private func describeContent(
        _ draft: inout RequestDraft, _ signing: MessageSigning, by deadline: RequestDeadline
    ) async throws {
        var length = try draft.body.contentLength(for: draft.method)
        switch draft.body {
        case .none:
            // The digest that the caller set may be that of a body which the request does not have.
            if draft.fields.scan(for: ContentDigest.fieldName) {
                draft.fields.replace(ContentDigest.fieldName, by: ContentDigest(of: []).fieldValue)
            }
        case .bytes(let bytes):
            draft.fields.replace(ContentDigest.fieldName, by: ContentDigest(of: bytes).fieldValue)
        case .file:
            let (digest, count) = try await Self.digest(of: draft.body, by: deadline)
            guard count == length else {
                throw ApproovError(.bodyFailed, "the file to upload changed while it was read; send it again when it is complete")
            }
            length = count
            draft.signedFileLength = count
            draft.fields.replace(ContentDigest.fieldName, by: digest.fieldValue)
        case .stream:
            guard signing.signsStreamsWithoutDigest || draft.fields.scan(for: ContentDigest.fieldName) else {
                throw ApproovError(
                    .signingFailed,
                    "a body that is a stream has no digest to sign before it is sent: use data or a file, set Content-Digest yourself, or"
                        + " sign without a digest with signsStreamsWithoutDigest")
            }
        }
        // The transport sends its own value, whatever the caller set.
        draft.fields.replace(.contentLength, by: length.map { String($0) })
    }

    /// Computes the digest of a body part by part, and counts its bytes.
    private static func digest(of body: RequestBody, by deadline: RequestDeadline) async throws -> (ContentDigest, Int) {
        let state = Mutex((hasher: ContentDigest.Hasher(), count: 0))
        try await body.forEachPart { part in
            try Task.checkCancellation()
            _ = try deadline.remaining
            state.withLock { state in
                state.hasher.update(part)
                state.count += part.count
            }
            // A long file must not keep other tasks from running.
            await Task.yield()
        }
        return state.withLock { ($0.hasher.finalize(), $0.count) }
    }

    private static func components(of fields: HTTPFields, _ names: [HTTPField.Name]) -> [SignatureComponent] {
        var components: [SignatureComponent] = [.method, .targetURI]
        components.reserveCapacity(names.count + 3)
        for name in names where fields.scan(for: name) { components.append(.field(name)) }
        if fields.scan(for: ContentDigest.fieldName) { components.append(.contentDigest) }
        return components
    }

    /// Reads the name of a field to cover; Content-Digest comes last by itself.
    private static func coveredName(_ text: String) throws -> HTTPField.Name {
        guard let name = HTTPField.Name(text), !text.hasPrefix(":") else {
            throw ApproovError(.initializationError, "\"\(LoggableText.name(text))\" is not the name of a header field to sign")
        }
        // The transport writes Host itself, and `@target-uri` covers it.
        guard !refused.contains(name), name.canonicalName != "host" else {
            throw ApproovError(
                .initializationError, "a signature cannot cover \(name) as an additional field, because it is part of the signature already"
            )
        }
        return name
    }

    private static let refused: Set<HTTPField.Name> = [
        MessageSignature.inputFieldName, MessageSignature.fieldName, SignatureBase.debugFieldName, ContentDigest.fieldName,
    ]

    private static func isKeyID(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}

extension ApproovService.SigningKey {
    /// The label of the key's signatures.
    var label: String {
        switch self {
        case .installation: "install"
        case .account: "account"
        }
    }
}

extension HTTPFields {
    /// Sets or removes a field, without the index that the subscript builds of all fields.
    fileprivate mutating func replace(_ name: HTTPField.Name, by value: String?) {
        if scan(for: name) { removeAll { $0.name == name } }
        if let value { append(HTTPField(name: name, value: value)) }
    }
}

extension MessageSigner {
    /// Signs a message, for a signer of any type.
    fileprivate func signature(
        of message: SignableMessage, label: String, parameters: SignatureParameters
    ) async throws -> MessageSignature {
        try await MessageSignature(signing: message, label: label, parameters: parameters, with: self)
    }
}
