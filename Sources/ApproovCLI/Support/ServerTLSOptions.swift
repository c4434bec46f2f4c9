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
        return try Self.files(certificate: tlsCert, key: tlsKey)
    }

    /// Reads a server's certificate and the key that belongs to it.
    static func files(certificate: String, key: String) throws -> (certificate: String, key: String) {
        let files = (try Files.text(at: certificate, what: "the certificate"), try Files.text(at: key, what: "the key"))
        // What cannot be read at all is left to the server, whose error says so.
        let its = try? PublicKeyFile.pins(inFile: certificate).first
        if let its, let given = try? PublicKeyFile.pins(inFile: key).first, its != given {
            throw CommandFailure(
                "the key in \(key) does not belong to the certificate in \(certificate), whose server's certificate must come first")
        }
        return files
    }
}
