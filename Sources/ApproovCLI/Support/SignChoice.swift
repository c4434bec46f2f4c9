import Approov
import ArgumentParser

/// The keys of `approov call --sign`.
enum SignChoice: String, ExpressibleByArgument, CaseIterable {
    case install, account, both

    /// The setting of the session.
    var signing: MessageSigning {
        switch self {
        case .install: .installation()
        case .account: .account()
        case .both: .both()
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
