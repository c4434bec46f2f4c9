/// An error that the authority tells about (RFC 9457).
public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of problem it is: the part after `urn:approov:problem:`.
    public struct Name: Hashable, Sendable, CustomStringConvertible {
        /// The name as it is written in the type's URI.
        public let rawValue: String

        /// A name; those this release knows are static members.
        public init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name as it is written in the type's URI.
        public var description: String { rawValue }

        /// The challenge was answered before.
        public static let challengeUsed = Name("challenge-used")
        /// The challenge is too old.
        public static let challengeExpired = Name("challenge-expired")
        /// The challenge is not one of this authority's.
        public static let challengeUnknown = Name("challenge-unknown")
        /// The evidence has not the shape it must have.
        public static let evidenceMalformed = Name("evidence-malformed")
        /// The evidence's signature does not verify.
        public static let evidenceSignature = Name("evidence-signature")
        /// The evidence is for another account.
        public static let wrongAccount = Name("wrong-account")
        /// The evidence is for another authority.
        public static let wrongAudience = Name("wrong-audience")
        /// The account does not know the host.
        public static let unknownHost = Name("unknown-host")
        /// Too many requests from one address.
        public static let rateLimited = Name("rate-limited")
        /// The body is longer than the limit.
        public static let bodyTooLarge = Name("body-too-large")
        /// The body is of another media type.
        public static let wrongMediaType = Name("wrong-media-type")
        /// There is nothing at this path.
        public static let notFound = Name("not-found")
        /// The authority failed.
        public static let internalError = Name("internal")
    }

    /// The media type of a problem.
    public static let mediaType = "application/problem+json"
    /// What every type's URI begins with.
    public static let typePrefix = "urn:approov:problem:"
    /// The longest problem that is read, in bytes.
    public static let maximumBytes = 16 * 1024

    /// What kind of problem it is.
    public let name: Name
    /// The same for every problem of this kind.
    public let title: String
    /// The HTTP status it came with.
    public let status: Int
    /// What was wrong this time and what to do.
    public let detail: String?

    /// The URI of the kind.
    public var type: String { Problem.typePrefix + name.rawValue }

    /// A problem.
    public init(_ name: Name, title: String, status: Int, detail: String? = nil) {
        self.name = name
        self.title = title
        self.status = status
        self.detail = detail
    }

    /// Reads a problem of ours.
    ///
    /// - Throws: `AttestationError.malformedMember`, also when the type is not under `urn:approov:problem:`.
    public init(json: JSONValue) throws(AttestationError) {
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
    public var json: JSONValue {
        jsonObject([
            "type": .string(type), "title": .string(title), "status": .integer(Int64(status)), "detail": detail.map(JSONValue.string),
        ])
    }

    /// Kind, status and title in one line; what came from outside is cut short and made printable.
    public var description: String {
        "\(printable(name.rawValue)) (status \(status))"
    }
}
