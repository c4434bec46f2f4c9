import ApproovTokens
import Synchronization

/// A verifier that a test replaces.
final class MutableVerifier: Sendable {
    private let state: Mutex<TokenVerifier>

    init(_ verifier: TokenVerifier) {
        state = Mutex(verifier)
    }

    var value: TokenVerifier {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
