internal import ApproovBase
internal import Logging

/// The background work of a running authority.
///
/// It loads changes of the store, writes the authority's URL to it if that failed at the start, renews the configuration and the
/// certificate, and forgets expired challenges.
struct AuthorityUpkeep: Sendable {
    /// Well below one second, within which a change must take effect.
    static let interval = Duration.milliseconds(250)
    private static let purgeInterval = Duration.seconds(60)
    private static let rememberingInterval = Duration.seconds(5)

    let store: AuthorityStore
    let unwritten: UnwrittenEndpoint
    let renewal: RenewedCertificate?
    let time: any TimeSource
    let logger: Logger

    /// Works until the task is cancelled.
    /// - Throws: ``AuthorityError`` with code `storeNewer` once a later release has upgraded the store, because nothing can be written
    ///   then.
    func run() async throws {
        var lastPurge = time.uptime
        var lastRemembering: Duration?
        var failing: Set<String> = []
        while !Task.isCancelled {
            try await attempt("changes of the store cannot be loaded; the settings in force stay", &failing) {
                if try await store.refresh() { logger.info("administrative change loaded") }
            }
            if unwritten.value != nil, lastRemembering.map({ time.uptime - $0 >= Self.rememberingInterval }) ?? true {
                lastRemembering = time.uptime
                try await attempt("the authority's URL and pins cannot be written to the store", &failing) {
                    guard let endpoint = unwritten.value else { return }
                    try await store.remember(endpoint)
                    unwritten.set(nil)
                }
            }
            try await attempt("the configuration cannot be renewed", &failing) {
                if try await store.renewConfigurationIfDue() { logger.info("next configuration signed") }
            }
            try await attempt("the certificate cannot be renewed", &failing) {
                switch try await renewal?.renewIfDue() {
                case .certificate?:
                    logger.info("certificate renewed; its key stays")
                case .certificateAndKey?:
                    logger.warning(
                        """
                        certificate renewed for the server key that was rotated since this authority started; restart it, so that apps learn \
                        the pin of the next backup key
                        """)
                case .certificateAndRoot?:
                    logger.warning(
                        """
                        the root of this authority's certificate was made while the clock was wrong, and was made again; ship apps a new \
                        initial configuration: approov sdk -getConfig FILE
                        """)
                case nil:
                    break
                }
            }
            if time.uptime - lastPurge >= Self.purgeInterval {
                lastPurge = time.uptime
                try await attempt("expired challenges cannot be removed", &failing) {
                    try await store.redemptions.purge(expiredBefore: store.now - 60)
                }
            }
            try? await time.sleep(for: Self.interval)
        }
    }

    /// Logs a failure once, and again only after the work has succeeded in between.
    private func attempt(_ failure: String, _ failing: inout Set<String>, _ body: () async throws -> Void) async throws {
        do {
            try await body()
            failing.remove(failure)
        } catch is CancellationError {
            return
        } catch let error as AuthorityError where error.code == .storeNewer {
            throw error
        } catch  where failing.insert(failure).inserted {
            logger.error("\(failure)", metadata: ["error": "\(error)"])
        } catch {
            // Already logged.
        }
    }
}
