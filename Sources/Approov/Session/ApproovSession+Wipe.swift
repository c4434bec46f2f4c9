extension ApproovSession {
    /// Wipes what the session has of a user.
    ///
    /// A change of the session's credential (``CredentialHolder/update(_:)``) wipes everything by itself. Wiping does this:
    ///
    /// - Requests in flight are cancelled. Their callers get a `CancellationError`, also those that read a response as it arrives, those
    ///   with a task that has not been resumed, and those whose response has arrived but has not been returned. A session does this if it
    ///   has a credential, if an interceptor tells of changes of the user (``RequestInterceptor/userScope``), or if
    ///   ``ApproovSessionConfiguration/tracksRequests`` is set. Those of sessions that were made with `adding` are cancelled too.
    /// - Tokens that are bound are forgotten, with their refreshes in the background, in the service and so for all its sessions.
    /// - Responses in a cache (`DataCache` of the module `APIClient`) are removed, and requests under way put none into it.
    /// - Cookies that the hosts would get are removed from the wrapped session's storage. When no host is named, because the session has no
    ///   credential, all its cookies go; from the storage that all sessions share, only those of the hosts of interceptors' users.
    ///
    /// A scope of URLs (``WipeScope/urls(_:)``) leaves tokens and cookies as they are.
    ///
    /// - Parameter scope: The hosts or URLs; by default everything.
    public func wipe(_ scope: WipeScope = .all) async { family.wipe(scope) }
}
