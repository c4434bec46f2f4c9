import ApproovBase
import Attestation
import Logging

/// Reports changes and problems of the configuration to the log and to event listeners.
struct ConfigurationReporter: Sendable {
    let events: EventStreams<ConfigurationEvent>
    let logger: Logger

    /// A version came into force.
    func inForce(_ version: Int64) {
        logger.info("configuration in force", metadata: ["version": "\(version)"])
        events.send(.accepted(version: version))
    }

    /// An offered configuration breaks a rule.
    func refused(_ error: any Error, besides version: Int64) {
        let reported = ApproovError(
            .configurationError, "a configuration was refused; version \(version) stays in force", cause: error)
        logger.error("configuration refused", metadata: ["error": "\(reported)"])
        events.send(.refused(reported))
    }

    /// The authority offers a configuration that is older than the configuration in force, has the same version but other content, or is
    /// not signed by a known key.
    func authorityBehind(_ error: AttestationError, besides version: Int64) {
        let (finding, end) =
            switch error.code {
            case .conflictingVersion:
                ("the authority has another configuration with the same version as this app's", " until the authority has a later version")
            case .unknownSigner: ("no key that this app knows signed the authority's configuration", "")
            default: ("the authority's configuration is older than this app's", " until the authority has a later version")
            }
        let reported = ApproovError(
            .configurationError,
            "\(finding); version \(version) stays in force, and no change reaches this app\(end). If the "
                + "authority was restored from an older backup, its operator must begin a new epoch (approov sdk -newEpoch) and ship a new "
                + "initial configuration", cause: error)
        logger.error("the authority's configuration does not follow this app's", metadata: ["error": "\(reported)"])
        events.send(.refused(reported))
    }

    /// The version in force could not be stored.
    func notStored(_ version: Int64, _ error: any Error) {
        let reported = ApproovError(
            .configurationError,
            "configuration version \(version) is in force but could not be stored; storing is retried, and until it succeeds a restart returns to"
                + " the stored version: check that the state directory's disk has room and that this user may write there", cause: error)
        logger.error("configuration not stored", metadata: ["error": "\(reported)"])
        events.send(.notStored(reported))
    }

    /// A version that could not be stored before is now stored.
    func stored(_ version: Int64) {
        logger.notice("configuration stored after all", metadata: ["version": "\(version)"])
    }

    /// The stored configuration cannot be used at this start.
    func flaw(_ flaw: StoredConfiguration.Flaw) {
        if let settingAside = flaw.settingAside {
            // The first two are usual at the first start with a newer initial configuration.
            switch (flaw.error as? AttestationError)?.code {
            case .rolledBack: return setAside(flaw.error, settingAside, "is older than the initial one", .notice)
            case .wrongEpoch: return setAside(flaw.error, settingAside, "says that it is of an earlier epoch than the initial one", .notice)
            default: return setAside(flaw.error, settingAside)
            }
        }
        if let foreign = flaw.error as? StoredConfiguration.ForeignConfiguration { return self.foreign(foreign) }
        let reported = ApproovError(
            .configurationError, "the stored configuration cannot be read; it is left in place, and the initial one is used: see the cause",
            cause: flaw.error)
        logger.error("stored configuration not read", metadata: ["error": "\(reported)"])
        events.send(.refused(reported))
    }

    /// The stored configuration is left in place because it may belong to another app.
    func foreign(_ foreign: StoredConfiguration.ForeignConfiguration) {
        let reported = ApproovError(
            .configurationError,
            foreign.isProven
                ? "another app, with a newer initial configuration, stored this configuration, so it is left in place, and this app keeps"
                    + " its own in memory: update this app, or give it its own state directory"
                : "the stored configuration names keys that this app does not know: another app with a newer initial configuration stored it, or"
                    + " it was altered; it is left in place until the authority gives this app a newer version", cause: foreign.cause)
        logger.warning("stored configuration left to another app", metadata: ["error": "\(reported)"])
        events.send(.refused(reported))
    }

    /// In the store, an older version or another version with the same number has replaced the version in force.
    func outdated(_ stored: Int64, besides inForce: Int64) {
        let what = stored == inForce ? "a different version \(stored)" : "version \(stored)"
        let reported = ApproovError(
            .configurationError,
            "the store contains \(what) instead of version \(inForce), which is in force and is stored again: find out which program"
                + " changed the store"
        )
        logger.error("another program replaced the stored configuration", metadata: ["error": "\(reported)"])
        events.send(.refused(reported))
    }

    /// The stored configuration does not verify; `settingAside` says whether it could be moved away.
    func setAside(_ error: any Error, _ settingAside: Result<Void, any Error>) {
        setAside(error, settingAside, "does not verify", .error)
    }

    private func setAside(_ error: any Error, _ settingAside: Result<Void, any Error>, _ finding: String, _ level: Logger.Level) {
        let (outcome, level) =
            switch settingAside {
            case .success: ("was set aside", level)
            case .failure(let obstacle): ("could not be set aside (\(obstacle))", Logger.Level.error)
            }
        let reported = ApproovError(.configurationError, "the stored configuration \(finding) and \(outcome)", cause: error)
        logger.log(level: level, "stored configuration not used", metadata: ["error": "\(reported)"])
        if case .success = settingAside { events.send(.setAside(reported)) } else { events.send(.refused(reported)) }
    }

    /// Other users had, or have, access that they must not have.
    func exposed(_ finding: String) {
        logger.warning("state open to other users", metadata: ["finding": "\(finding)"])
        events.send(.exposed(ApproovError(.configurationError, finding)))
    }

    /// The pins of these hosts are past their expiry date.
    func pinsPastTheirDate(_ hosts: [String]) {
        logger.warning("pins past their date stay in force", metadata: ["hosts": "\(hosts.map(LoggableText.name))"])
        events.send(.pinsPastTheirDate(hosts: hosts))
    }

    /// The configuration in force is past its expiry date.
    func expired(_ version: Int64) {
        logger.warning(
            "the configuration has expired; its pins stay in force, and the authority is asked for a newer one: check that it can be reached",
            metadata: ["version": "\(version)"])
        events.send(.expired(version: version))
    }
}
