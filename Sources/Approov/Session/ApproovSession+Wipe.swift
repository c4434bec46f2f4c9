extension ApproovSession {
    /// Cancels the user's requests, and removes the user's bound tokens, cookies and cached responses.
    ///
    /// When the session's credential changes (``CredentialHolder/update(_:)``), the session wipes everything by itself. A wipe does this:
    ///
    /// - It cancels the requests in flight, including those of sessions that were made with `adding`. Their callers get a
    ///   `CancellationError`, even if they are reading a streamed response, if their task has not been resumed, or if the response has
    ///   arrived but has not been returned. Only a session that tracks its requests can cancel them: one with a credential, with an
    ///   interceptor that reports changes of the user (``RequestInterceptor/userScope``), or with
    ///   ``ApproovSessionConfiguration/tracksRequests`` set.
    /// - It makes the service forget the bound tokens and stop refreshing them in the background, for all sessions of the service.
    /// - It removes the responses in a cache (`DataCache` of the module `APIClient`). Requests under way add none.
    /// - It removes the cookies that the hosts would get from the wrapped session's storage. If no host is named, because the session has
    ///   no credential, it removes all cookies of the storage. From `HTTPCookieStorage.shared`, it then removes only the cookies of the
    ///   hosts for which an interceptor names a user.
    ///
    /// A scope of URLs (``WipeScope/urls(_:)``) leaves tokens and cookies as they are.
    ///
    /// - Parameter scope: The hosts or URLs; by default everything.
    public func wipe(_ scope: WipeScope = .all) async { family.wipe(scope) }
}
