/// What the authorization server issues to an app: the token that the API accepts, and the one that gets the next pair.
struct TokenPair: Codable, Sendable {
    enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
    }

    let accessToken: String
    let refreshToken: String
}
