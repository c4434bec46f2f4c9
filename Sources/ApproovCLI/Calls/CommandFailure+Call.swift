import Approov
import CertificatePinning
import Foundation

extension CommandFailure {
    /// Converts the error of `approov call` into the command's own words and exit code.
    /// - Parameters:
    ///   - error: The error of the session.
    ///   - bound: The names of `--bind`.
    ///   - given: The headers of `-H`.
    init(ofCall error: any Error, bound: [String], given: [(name: String, value: String)]) {
        // Without a root no certificate is trusted: a script treats that as it treats a refused one, like curl.
        let isRefusal = error.trustRefusal != nil || error.meansNoAnchors || (error as? ApproovError)?.code == .pinningError
        self.init(
            Self.words(of: error, bound: bound, given: given) ?? "\(error)", exitCode: isRefusal ? Self.trustRefused : 1)
    }

    /// The message for an error whose own message names parts of the Swift API; nil for every other error.
    private static func words(of error: any Error, bound: [String], given: [(name: String, value: String)]) -> String? {
        if let refusal = error.trustRefusal, refusal.reason == .hostNotEvaluated {
            return "pinningError: \(refusal.host) is refused, because it is neither in the configuration nor pinned; omit "
                + "--all-hosts-evaluated, protect the host (approov api -add), or, for the URL's own host, give its pins with --pin"
        }
        guard let error = error as? ApproovError, error.code == .bindingMissing else { return nil }
        let present = Set(given.filter { !$0.value.allSatisfy(\.isWhitespace) }.map { $0.name.lowercased() })
        guard let missing = bound.first(where: { !present.contains($0.lowercased()) }) else {
            return "bindingMissing: a redirect to another origin removed a header of --bind, which was not meant for that origin; call the "
                + "new URL itself"
        }
        return "bindingMissing: --bind names \(missing), but the request has no value for it; give one with -H '\(missing): …', or omit "
            + "--bind \(missing)"
    }
}
