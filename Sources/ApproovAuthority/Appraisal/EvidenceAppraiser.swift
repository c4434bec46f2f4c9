internal import Attestation

/// Judges whether verified evidence is of a registered app in a sound environment (RFC 9334, section 8.5).
struct EvidenceAppraiser: Sendable {
    /// The authority's verdict about evidence.
    struct Verdict: Sendable {
        /// The reasons for the rejection; empty if the evidence is trusted.
        let reasons: Set<RejectionReason>
        /// The values of the token's `anno` claim, for every verdict.
        let annotations: [String]

        var isTrusted: Bool { reasons.isEmpty }
    }

    /// A new account's actions for environment flags.
    static let standardPolicy: [RejectionReason: EnvironmentAction] = [
        .debugger: .reject, .debuggerUnknown: .reject, .preload: .reject, .preloadUnknown: .reject, .root: .annotate,
    ]

    let registeredMeasurements: Set<String>
    let environmentPolicy: [RejectionReason: EnvironmentAction]

    /// Judges evidence by the registrations and the environment policy.
    func appraise(_ evidence: Evidence) -> Verdict {
        var reasons: Set<RejectionReason> = []
        var annotations: [String] = []
        if !isRegistered(evidence.measurements) { reasons.insert(.appNotRegistered) }
        // Flags unknown to this version are ignored: they come from the app alone.
        for flag in Set(evidence.environment.compactMap(RejectionReason.init)) where flag != .appNotRegistered {
            switch environmentPolicy[flag] ?? .reject {
            case .reject: reasons.insert(flag)
            case .annotate: annotations.append(flag.rawValue)
            case .ignore: break
            }
        }
        return Verdict(reasons: reasons, annotations: annotations.sorted())
    }

    private func isRegistered(_ measurements: [String: String]) -> Bool {
        guard let executable = measurements[Evidence.executableMeasurement] else { return false }
        return registeredMeasurements.contains(executable)
    }
}
