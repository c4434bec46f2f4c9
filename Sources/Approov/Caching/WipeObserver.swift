package import Foundation

/// Keeps responses of sessions, and removes them when a session is wiped.
package protocol WipeObserver: AnyObject, Sendable {
    /// Removes what it keeps of a session, and keeps nothing of what the session's requests under way bring.
    ///
    /// - Parameters:
    ///   - session: The session's ``SessionWipes/id``.
    ///   - scope: The requests whose responses are removed.
    func wipe(_ session: UUID, _ scope: WipeScope)
}
