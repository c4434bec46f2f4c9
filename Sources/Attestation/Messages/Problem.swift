package import ApproovBase

/// An error reported by the authority (RFC 9457).
package struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of problem: the part of its type URI after `urn:approov:problem:`.
    package struct Name: Hashable, Sendable, CustomStringConvertible {
        /// The name as written in the type URI.
        package let rawValue: String

        /// Makes a name; the ones that this release knows are static members.
        package init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name as written in the type URI.
        package var description: String { rawValue }

        /// The challenge was already used.
        package static let challengeUsed = Name("challenge-used")
        /// The challenge has expired.
        package static let challengeExpired = Name("challenge-expired")
        /// This authority did not issue the challenge.
        package static let challengeUnknown = Name("challenge-unknown")
        /// The evidence has an unsupported shape.
        package static let evidenceMalformed = Name("evidence-malformed")
        /// The evidence's signature does not verify.
        package static let evidenceSignature = Name("evidence-signature")
        /// The evidence is for another account.
        package static let wrongAccount = Name("wrong-account")
        /// The evidence is for another authority.
        package static let wrongAudience = Name("wrong-audience")
        /// The account has no such host.
        package static let unknownHost = Name("unknown-host")
        /// The address sent too many requests.
        package static let rateLimited = Name("rate-limited")
        /// The request body exceeds the limit.
        package static let bodyTooLarge = Name("body-too-large")
        /// The request body has the wrong media type.
        package static let wrongMediaType = Name("wrong-media-type")
        /// The custom claims are malformed, too long, or use a reserved name.
        package static let badPayload = Name("bad-payload")
        /// The account issues no custom JWTs.
        package static let disabled = Name("disabled")
        /// The path does not exist.
        package static let notFound = Name("not-found")
        /// The authority failed internally.
        package static let internalError = Name("internal")
    }

    /// The media type of a problem.
    package static let mediaType = ProblemDetails.mediaType
    /// The beginning of every type URI.
    package static let typePrefix = "urn:approov:problem:"
    /// The most bytes of a problem that is read.
    package static let maximumBytes = 16 * 1024

    /// The kind of problem.
    package let name: Name
    /// A title, the same for every problem of this kind.
    package let title: String
    /// The HTTP status of the response.
    package let status: Int
    /// What was wrong in this case and how to fix it.
    package let detail: String?

    /// The type URI.
    package var type: String { Problem.typePrefix + name.rawValue }

    /// Makes a problem.
    ///
    /// - Parameters:
    ///   - name: The kind of problem.
    ///   - title: A title, the same for every problem of this kind.
    ///   - status: The HTTP status of the response.
    ///   - detail: What was wrong in this case and how to fix it.
    package init(_ name: Name, title: String, status: Int, detail: String? = nil) {
        self.name = name
        self.title = title
        self.status = status
        self.detail = detail
    }

    /// Reads a problem of an Approov authority.
    ///
    /// - Parameter json: A JSON object.
    /// - Throws: ``AttestationError`` with code `malformedMember`, including when the type is not under `urn:approov:problem:`.
    package init(json: JSONValue) throws(AttestationError) {
        let type = try json.string("type")
        guard type.hasPrefix(Problem.typePrefix), type.utf8.count <= 128 else {
            throw AttestationError(.malformedMember, "must begin with \(Problem.typePrefix)", member: "type")
        }
        name = Name(String(type.dropFirst(Problem.typePrefix.count)))
        title = try json.optionalString("title") ?? ""
        status = Int(try json.integer("status", in: 100...599))
        detail = try json.optionalString("detail")
    }

    /// Reads the type of any problem, even of one that is not an authority's.
    ///
    /// - Parameter bytes: The content of an `application/problem+json` response, at most ``maximumBytes``.
    /// - Returns: The type URI; nil when the bytes are not problem details, or name no type.
    package static func type(in bytes: [UInt8]) -> String? {
        guard let json = try? JSONValue(reading: bytes, limit: maximumBytes) else { return nil }
        return try? json.string("type")
    }

    /// The problem as problem details.
    package var details: ProblemDetails { ProblemDetails(type: type, status: status, title: title, detail: detail) }

    /// The kind and status on one line; the received name is shortened and made printable.
    package var description: String {
        "\(LoggableText.name(name.rawValue)) (status \(status))"
    }
}
