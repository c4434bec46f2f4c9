internal import Attestation

/// Judges evidence that is genuine: whether it is of a registered app, in a sound environment (RFC 9334, section 8.5, appraisal policy).
struct EvidenceAppraiser: Sendable {
    /// What the authority thinks of some evidence.
    struct Verdict: Sendable {
        /// Why it is not believed; empty when it is.
        let reasons: Set<RejectionReason>
        /// What the token's `anno` says, whether it is believed or not.
        let annotations: [String]

        var isTrusted: Bool { reasons.isEmpty }
    }

    /// What a new account does with environment flags.
    static let standardPolicy: [RejectionReason: EnvironmentAction] = [
        .debugger: .reject, .debuggerUnknown: .reject, .preload: .reject, .preloadUnknown: .reject, .root: .annotate,
    ]

    let registeredMeasurements: Set<String>
    let environmentPolicy: [RejectionReason: EnvironmentAction]

    /// Judges.
    func appraise(_ evidence: Evidence) -> Verdict {
        var reasons: Set<RejectionReason> = []
        var annotations: [String] = []
        if !isRegistered(evidence.measurements) { reasons.insert(.appNotRegistered) }
        // Flags that this version does not know come from the app alone and go nowhere.
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
