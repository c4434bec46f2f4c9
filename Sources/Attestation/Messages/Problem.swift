package import ApproovBase

/// An error that the authority tells about (RFC 9457).
package struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of problem it is: the part after `urn:approov:problem:`.
    package struct Name: Hashable, Sendable, CustomStringConvertible {
        /// The name as it is written in the type's URI.
        package let rawValue: String

        /// A name; those this release knows are static members.
        package init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name as it is written in the type's URI.
        package var description: String { rawValue }

        /// The challenge was answered before.
        package static let challengeUsed = Name("challenge-used")
        /// The challenge is too old.
        package static let challengeExpired = Name("challenge-expired")
        /// The challenge is not one of this authority's.
        package static let challengeUnknown = Name("challenge-unknown")
        /// The evidence has not the shape it must have.
        package static let evidenceMalformed = Name("evidence-malformed")
        /// The evidence's signature does not verify.
        package static let evidenceSignature = Name("evidence-signature")
        /// The evidence is for another account.
        package static let wrongAccount = Name("wrong-account")
        /// The evidence is for another authority.
        package static let wrongAudience = Name("wrong-audience")
        /// The account does not know the host.
        package static let unknownHost = Name("unknown-host")
        /// Too many requests from one address.
        package static let rateLimited = Name("rate-limited")
        /// The body is longer than the limit.
        package static let bodyTooLarge = Name("body-too-large")
        /// The body is of another media type.
        package static let wrongMediaType = Name("wrong-media-type")
        /// There is nothing at this path.
        package static let notFound = Name("not-found")
        /// The authority failed.
        package static let internalError = Name("internal")
    }

    /// The media type of a problem.
    package static let mediaType = "application/problem+json"
    /// What every type's URI begins with.
    package static let typePrefix = "urn:approov:problem:"
    /// The longest problem that is read, in bytes.
    package static let maximumBytes = 16 * 1024

    /// What kind of problem it is.
    package let name: Name
    /// The same for every problem of this kind.
    package let title: String
    /// The HTTP status it came with.
    package let status: Int
    /// What was wrong this time and what to do.
    package let detail: String?

    /// The URI of the kind.
    package var type: String { Problem.typePrefix + name.rawValue }

    /// A problem.
    package init(_ name: Name, title: String, status: Int, detail: String? = nil) {
        self.name = name
        self.title = title
        self.status = status
        self.detail = detail
    }

    /// Reads a problem of ours.
    ///
    /// - Throws: `AttestationError.malformedMember`, also when the type is not under `urn:approov:problem:`.
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

    /// All members that have a value.
    package var json: JSONValue {
        jsonObject([
            "type": .string(type), "title": .string(title), "status": .integer(Int64(status)), "detail": detail.map(JSONValue.string),
        ])
    }

    /// Kind, status and title in one line; what came from outside is cut short and made printable.
    package var description: String {
        "\(LoggableText.name(name.rawValue)) (status \(status))"
    }
}
