import Approov
import ArgumentParser

/// The keys of `approov call --sign`.
enum SignChoice: String, ExpressibleByArgument, CaseIterable {
    case install, account, both

    /// The setting of the session.
    /// - Parameters:
    ///   - installationKeyID: The parameter `keyid` of the installation's signature; nil to leave it out.
    ///   - accountKeyID: The parameter `keyid` of the account's signature; nil to leave it out.
    /// - Returns: The setting.
    func signing(installationKeyID: String?, accountKeyID: String?) -> MessageSigning {
        switch self {
        case .install: .installation(keyID: installationKeyID)
        case .account: .account(keyID: accountKeyID)
        case .both: .both(installationKeyID: installationKeyID, accountKeyID: accountKeyID)
        }
    }

    /// The keys, in words.
    var words: String {
        switch self {
        case .install: "the installation key"
        case .account: "the account's message-signing key"
        case .both: "the installation key and the account's message-signing key"
        }
    }
}
