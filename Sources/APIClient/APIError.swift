public import ApproovBase
internal import Foundation

/// A request that cannot be built, or a response that is not what the caller asked for.
///
/// The message names the parameter, header or element, and never contains a value, a body or a URL's query. The refused response is a
/// property that the description does not contain.
public struct APIError: CodedError, CustomReflectable {
    /// A stable, comparable name for the kind of failure.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The URL cannot be requested.
        public static let invalidURL = Code("invalidURL")
        /// The parameters cannot be written in the format that was chosen.
        public static let invalidQuery = Code("invalidQuery")
        /// A header's name or value is malformed, or the header belongs to the body.
        public static let invalidHeader = Code("invalidHeader")
        /// The method has no body, or the body cannot be written.
        public static let invalidBody = Code("invalidBody")
        /// An environment is not described correctly, or cannot be used.
        public static let invalidEnvironment = Code("invalidEnvironment")
        /// A document is not XML, or not the XML that is accepted.
        public static let malformedXML = Code("malformedXML")
        /// A document is larger or deeper than is accepted.
        public static let tooLarge = Code("tooLarge")
        /// The response has a status that the caller did not ask for.
        public static let unexpectedStatus = Code("unexpectedStatus")
        /// The response has a media type that the caller did not ask for.
        public static let unexpectedMediaType = Code("unexpectedMediaType")
        /// The response's content is not what the caller asked for.
        public static let malformedResponse = Code("malformedResponse")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>

    /// The response that was refused, with its content; nil for an error that comes before the response.
    public let response: APIResponse?

    /// Makes an error without anything beyond its details.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) { self.init(details, response: nil) }

    /// The details alone, so that no dump shows the response's content or headers.
    public var customMirror: Mirror { Mirror(self, children: ["details": details]) }

    init(_ details: ErrorDetails<Code>, response: APIResponse?) {
        self.details = details
        self.response = response
    }
}
