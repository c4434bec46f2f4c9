internal import Attestation

/// Judges whether verified evidence is of a registered app in a sound environment (RFC 9334, section 8.5).
struct EvidenceAppraiser: Sendable {
    /// The authority's verdict about evidence.
    struct Verdict: Sendable {
        /// The reasons for the rejection; empty if the evidence is trusted.
        let reasons: Set<RejectionReason>
        /// The values of the token's `anno` claim, for every verdict.
        let annotations: [String]
        /// Whether the device's policy or the development key excused a reason, so that nothing shows the app to be genuine.
        let isExcused: Bool

        var isTrusted: Bool { reasons.isEmpty }
    }

    /// The annotation of evidence that has the proof of a development key.
    static let developmentKeyAnnotation = "dev-key"

    /// A new account's actions for environment flags.
    static let standardPolicy: [RejectionReason: EnvironmentAction] = [
        .debugger: .reject, .debuggerUnknown: .reject, .preload: .reject, .preloadUnknown: .reject, .root: .annotate,
    ]

    /// The end of each registration by its measurement, in seconds since 1970.
    let registrationEnds: [String: Int64]
    let environmentPolicy: [RejectionReason: EnvironmentAction]
    /// Seconds since 1970.
    let now: Int64

    /// Judges evidence by the registrations, the environment policy, the device's policy and the development key.
    /// - Parameters:
    ///   - evidence: The evidence.
    ///   - device: The policy of the device that it is from; nil for none.
    ///   - developmentKey: What was found about its development key.
    /// - Returns: The verdict.
    func appraise(_ evidence: Evidence, device: DevicePolicy?, developmentKey: DevelopmentKeyFinding) -> Verdict {
        var reasons: Set<RejectionReason> = []
        var annotations: [String] = []
        if let flaw = registrationFlaw(evidence.measurements) { reasons.insert(flaw) }
        // Flags unknown to this version are ignored: they come from the app alone.
        for flag in Set(evidence.environment.compactMap(RejectionReason.init)) where flag.isEnvironmentFlag {
            switch environmentPolicy[flag] ?? .reject {
            case .reject: reasons.insert(flag)
            case .annotate: annotations.append(flag.rawValue)
            case .ignore: break
            }
        }
        let isExcused = !reasons.isEmpty && (device == .alwaysPass || developmentKey == .genuine)
        if isExcused { reasons = [] }
        if device == .alwaysPass { annotations.append(DevicePolicy.alwaysPass.rawValue) }
        // Also in a decoy: otherwise the app could tell from its token that its key was not accepted.
        if developmentKey != .absent { annotations.append(Self.developmentKeyAnnotation) }
        if device == .alwaysFail { reasons.insert(.alwaysFail) }
        if let flaw = developmentKey.flaw { reasons.insert(flaw) }
        return Verdict(reasons: reasons, annotations: annotations.sorted(), isExcused: isExcused)
    }

    /// The reason why the executable counts as not registered; nil if it is registered.
    private func registrationFlaw(_ measurements: [String: String]) -> RejectionReason? {
        guard let executable = measurements[Evidence.executableMeasurement], let end = registrationEnds[executable] else {
            return .appNotRegistered
        }
        return now < end ? nil : .registrationExpired
    }
}
