import ApproovBase
import CertificatePinning
import Foundation
import HTTPClient

/// `approov pin -get`: the pins of a file or, if no regular file has that name, of a server.
struct PinsOfSource {
    let source: String
    let json: Bool

    func run() async throws {
        let endings = ["pem", "crt", "cer", "der", "key", "csr"]
        let namesFile =
            !source.contains("://") && (source.contains("/") || endings.contains(URL(filePath: source).pathExtension.lowercased()))
        // Without a path or an ending, only a regular file counts: a folder may have the name of a host.
        if let status = FileStatus(source), status.isRegular || namesFile {
            let pins = try PublicKeyFile.pins(inFile: source).map(\.description)
            if json { try Console.json(pins) } else { for pin in pins { Console.line(pin) } }
            return
        }
        guard !namesFile else { throw CommandFailure("there is no file \(source)") }
        let url: TransportURL
        do {
            url = try TransportURL(source.contains("://") ? source : "https://\(source)/")
        } catch {
            throw CommandFailure("\(LoggableText.withoutUser(source)) is neither a file nor a host name: \(error)")
        }
        guard url.isSecure else {
            throw CommandFailure(
                "\(LoggableText.withoutUser(source)) is plain http and has no certificates; give an https URL or a host name")
        }
        let presented = try await PresentedChain.of(url)
        let report = PinReport(host: url.host.name, presented)
        if json {
            try Console.json(report)
        } else {
            for entry in report.certificates { Console.line("\(entry.pin)  \(entry.subject)") }
            if let refusal = report.refusal { Console.note("approov: this chain is not valid with the system's roots: \(refusal)") }
        }
    }
}
