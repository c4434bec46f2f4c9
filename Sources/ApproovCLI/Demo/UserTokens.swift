import Foundation
import Synchronization

/// The tokens of the demo's users: the authorization server issues them, and the API looks them up.
final class UserTokens: Sendable {
    private struct State {
        /// The users by their valid access tokens.
        var users: [String: String] = [:]
        /// The users by their unused refresh tokens.
        var refreshing: [String: String] = [:]
        var refreshCount = 0

        mutating func issue(to user: String) -> TokenPair {
            let pair = TokenPair(accessToken: UUID().uuidString, refreshToken: UUID().uuidString)
            users[pair.accessToken] = user
            refreshing[pair.refreshToken] = user
            return pair
        }
    }

    private let state = Mutex(State())

    /// How often a refresh was asked for, including those that were refused.
    var refreshCount: Int { state.withLock { $0.refreshCount } }

    /// Issues a user's first tokens.
    func logIn(_ user: String) -> TokenPair { state.withLock { $0.issue(to: user) } }

    /// Issues new tokens in exchange for a refresh token, which is used up; nil if it is unknown or used.
    func refresh(_ refreshToken: String) -> TokenPair? {
        state.withLock { state in
            state.refreshCount += 1
            guard let user = state.refreshing.removeValue(forKey: refreshToken) else { return nil }
            return state.issue(to: user)
        }
    }

    /// Makes all access tokens expire now.
    func expireAccessTokens() { state.withLock { $0.users = [:] } }

    /// The user whose valid access token a header Authorization has.
    func user(of authorization: String?) -> String? {
        guard let authorization, authorization.hasPrefix("Bearer ") else { return nil }
        return state.withLock { $0.users[String(authorization.dropFirst("Bearer ".count))] }
    }
}
