internal import Foundation

/// A token for a grant that an extension or a server defines (RFC 6749, section 4.5), such as a JWT bearer assertion (RFC 7523).
public struct ExtensionGrant: TokenGrant, CustomStringConvertible, CustomReflectable {
    /// The grant's type: an absolute URI, or the name that the server defines.
    public let type: String
    private let extra: @Sendable () async throws -> [(name: String, value: String)]

    /// True: the server's scope is the default.
    public var usesServerScope: Bool { true }

    /// Makes a grant whose parameters are known.
    ///
    /// - Parameters:
    ///   - type: The grant's type.
    ///   - parameters: The parameters besides `grant_type`.
    public init(type: String, parameters: [(name: String, value: String)] = []) {
        self.init(type: type) { parameters }
    }

    /// Makes a grant whose parameters are made for each request, such as an assertion that expires.
    ///
    /// - Parameters:
    ///   - type: The grant's type.
    ///   - parameters: Returns the parameters besides `grant_type`.
    public init(type: String, parameters: @escaping @Sendable () async throws -> [(name: String, value: String)]) {
        self.type = type
        extra = parameters
    }

    /// The parameters of the token request.
    ///
    /// - Returns: Names and values.
    /// - Throws: The errors of the closure that makes the parameters.
    public func parameters() async throws -> [(name: String, value: String)] {
        [("grant_type", type)] + (try await extra())
    }

    /// The type; the parameters are not shown.
    public var description: String { "ExtensionGrant(\(type))" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
