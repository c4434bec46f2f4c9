import ArgumentParser
import CertificatePinning

/// `--tls-cert` and `--tls-key`, for servers that speak plain http on loopback without them.
struct ServerTLSOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("The server's certificate and its intermediates, PEM. Without it: http, on loopback alone.", valueName: "file"))
    var tlsCert: String?

    @Option(name: .long, help: ArgumentHelp("The certificate's private key, PEM.", valueName: "file"))
    var tlsKey: String?

    /// Refuses half a pair, and plain http where others could listen in.
    func check(_ listen: ListenAddress) throws {
        guard (tlsCert == nil) == (tlsKey == nil) else { throw ValidationError("--tls-cert and --tls-key go together.") }
        guard tlsCert != nil || (try? CanonicalHost(listen.host))?.isLoopback == true else {
            throw ValidationError("--listen \(listen.host) is not a loopback address: serve there with --tls-cert and --tls-key.")
        }
    }

    /// The files' content; nil when none were named.
    func files() throws -> (certificate: String, key: String)? {
        guard let tlsCert, let tlsKey else { return nil }
        return (try Files.text(at: tlsCert, what: "the certificate"), try Files.text(at: tlsKey, what: "the key"))
    }
}
