extension ApproovSession {
    /// Wipes what the session has of a user.
    ///
    /// A change of the session's credential (``CredentialHolder/update(_:)``) wipes everything by itself. Wiping does this:
    ///
    /// - Requests in flight are cancelled. Their callers get a `CancellationError`, also those that read a response as it arrives, those
    ///   with a task that has not been resumed, and those whose response has arrived but has not been returned. A session does this if it
    ///   has a credential, or if ``ApproovSessionConfiguration/tracksRequests`` is set.
    /// - Tokens that are bound are forgotten, with their refreshes in the background, in the service and so for all its sessions.
    /// - Responses in a cache (`DataCache` of the module `APIClient`) are removed, and requests under way put none into it.
    /// - Cookies that the hosts would get are removed from the wrapped session's storage. When no host is named, because the session has no
    ///   credential, all its cookies go, unless the storage is the one that all sessions share.
    ///
    /// - Parameter scope: The hosts; by default everything.
    public func wipe(_ scope: WipeScope = .all) async {
        let cookies = performer.stations.response.cookies
        (flights ?? RequestFlights(credential: nil, cookies: cookies, service: service, wipes: wipes)).wipe(scope)
    }
}
