import ApproovBase
import Attestation
import CertificatePinning
import Foundation

/// One report in TrustKit's schema.
struct ViolationReport {
    /// The parts that identical reports have in common: everything except the dates.
    struct Identity: Hashable {
        let host: String
        let port: Int?
        let notedHost: String
        let enforcesPins: Bool
        let isRefused: Bool
        let reason: TrustRefusal.Reason
        let presented: [Pin]
        let known: [Pin]

        init(_ violation: PinViolation) {
            host = violation.host
            port = violation.port
            notedHost = violation.notedHost
            enforcesPins = violation.enforcesPins
            isRefused = violation.isRefused
            reason = violation.refusal.reason
            presented = violation.certificates.map(\.pin)
            known = violation.knownPins
        }
    }

    let violation: PinViolation
    let reports: ViolationReports

    /// The report as JSON text.
    var serialized: [UInt8] {
        var members: [String: JSONValue] = [
            "app-bundle-id": .string(reports.appID), "app-version": .string(reports.appVersion), "app-vendor-id": .string(reports.vendorID),
            "app-platform": "LINUX", "app-platform-version": .string(ProcessInfo.processInfo.operatingSystemVersionString),
            "trustkit-version": .string("approov-swift/\(AuthorityClient.sdkVersion)"),
            "hostname": .string(violation.host), "port": .integer(Int64(violation.port ?? 443)),
            "noted-hostname": .string(violation.notedHost), "include-subdomains": .bool(violation.includesSubdomains),
            "enforce-pinning": .bool(violation.enforcesPins),
            "validated-certificate-chain": .array(violation.certificates.map { .string(Self.pem($0)) }),
            "known-pins": .array(violation.knownPins.map { .string(Self.text($0)) }),
            "date-time": .string(violation.date.ISO8601Format()), "validation-result": .integer(validationResult),
        ]
        if let date = violation.pinsExpireAt {
            members["known-pins-expiration-date"] = .string(date.formatted(.iso8601.year().month().day()))
        }
        return JSONValue.object(members).serialized()
    }

    /// TrustKit's result code: 1 if the chain is valid but has no known pin, 2 if the chain is invalid.
    private var validationResult: Int64 { violation.isPathValidated && violation.refusal.reason == .pinMismatch ? 1 : 2 }

    /// The pin in the notation of RFC 7469.
    private static func text(_ pin: Pin) -> String { #"pin-sha256="\#(Data(pin.bytes).base64EncodedString())""# }

    private static func pem(_ certificate: Certificate) -> String {
        let base64 = Data(certificate.der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN CERTIFICATE-----\n\(base64)\n-----END CERTIFICATE-----\n"
    }
}
