internal import Foundation

/// What a stored token belongs to: an account, a client, and an authorization.
public struct TokenKey: Hashable, Sendable {
    /// The name that the app gives to the user's account; empty for an app with one user at a time.
    ///
    /// An app that obtains several tokens for itself, with different scopes or audiences, gives each one a name.
    public let account: String
    /// The client's identifier.
    public let clientID: String
    /// The token endpoint, so that two servers that know the same client identifier do not share tokens.
    public let tokenEndpoint: String
    /// The authorization.
    public let authorization: Authorization

    /// Names a token.
    ///
    /// - Parameters:
    ///   - client: The client that the token was issued to.
    ///   - authorization: The authorization.
    ///   - account: The name that the app gives to the user's account.
    public init(client: OAuth2Client, authorization: Authorization, account: String = "") {
        self.account = account
        clientID = client.id
        tokenEndpoint = client.server.tokenURL.absoluteString
        self.authorization = authorization
    }

    /// Whether all parts have the same bytes.
    ///
    /// `String` takes an accented letter in one character or in two for the same, but they are two accounts.
    /// - Parameters:
    ///   - left: A key.
    ///   - right: Another key.
    /// - Returns: Whether they name the same token.
    public static func == (left: TokenKey, right: TokenKey) -> Bool {
        left.account.utf8.elementsEqual(right.account.utf8) && left.clientID.utf8.elementsEqual(right.clientID.utf8)
            && left.tokenEndpoint.utf8.elementsEqual(right.tokenEndpoint.utf8) && left.authorization == right.authorization
    }

    /// Hashes the parts that tell most keys of an app apart: the store is asked for each request.
    ///
    /// - Parameter hasher: The hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(account)
        hasher.combine(clientID)
    }

    /// All parts in one text; the lengths make it impossible that two keys have the same.
    package var text: String {
        [account, clientID, tokenEndpoint, authorization.type.rawValue, authorization.level.rawValue]
            .map { "\($0.utf8.count):\($0)" }.joined()
    }
}
