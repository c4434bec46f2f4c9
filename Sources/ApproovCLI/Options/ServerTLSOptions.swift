import ApproovBase
import ArgumentParser
import CertificatePinning
import HTTPServing
import Logging

/// The options `--tls-cert` and `--tls-key`; without them a server speaks plain http, on loopback only.
struct ServerTLSOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "PEM file of the server's certificate and its intermediates. Default: plain http, only on loopback.", valueName: "file"))
    var tlsCert: String?

    @Option(name: .long, help: ArgumentHelp("PEM file of the certificate's private key.", valueName: "file"))
    var tlsKey: String?

    /// Refuses one option without the other, and plain http on an address that is not loopback.
    func check(_ listen: ListenAddress) throws {
        guard (tlsCert == nil) == (tlsKey == nil) else { throw ValidationError("--tls-cert and --tls-key must be given together.") }
        guard tlsCert != nil || (try? CanonicalHost(listen.host))?.isLoopback == true else {
            throw ValidationError("--listen \(listen.host) is not a loopback address: give --tls-cert and --tls-key.")
        }
    }

    /// Reads the named files; nil without the options.
    /// - Parameter remarks: Warns of a key that every user of this machine can read.
    /// - Returns: The texts of the files.
    /// - Throws: `CommandFailure` that names the files when a server could not use them.
    func files(_ remarks: Remarks) throws -> (certificate: String, key: String)? {
        guard let tlsCert, let tlsKey else { return nil }
        return try Self.files(certificate: tlsCert, key: tlsKey, remarks)
    }

    /// Reads a server's certificate and its key.
    /// - Parameters:
    ///   - certificate: The certificate's file.
    ///   - key: The key's file.
    ///   - remarks: Warns of a key that every user of this machine can read.
    /// - Returns: The texts of the files.
    /// - Throws: `CommandFailure` that names the files when a server could not use them.
    static func files(certificate: String, key: String, _ remarks: Remarks) throws -> (certificate: String, key: String) {
        let files = (
            certificate: try Files.text(at: certificate, what: "--tls-cert"), key: try Files.text(at: key, what: "--tls-key")
        )
        let its = try? PublicKeyFile.pins(inFile: certificate).first
        if let its, let given = try? PublicKeyFile.pins(inFile: key).first, its != given {
            throw CommandFailure(
                "the key in \(key) does not belong to the first certificate in \(certificate); put the server's own certificate first")
        }
        do throws(ListenerFailure) {
            _ = try ListenerAddress(host: "localhost", port: 0, identity: (certificatePEM: files.certificate, keyPEM: files.key))
        } catch {
            guard (try? Certificate.all(inPEM: files.certificate)) != nil else {
                throw CommandFailure("--tls-cert \(certificate): the file is not a certificate in PEM; give the server's own one first")
            }
            throw CommandFailure("--tls-key \(key): the file is not a private key in PEM that can be read; give it without a passphrase")
        }
        // Not refused: such a server has worked so far, and the group may have to read the key.
        if let status = FileStatus(key), status.permissions & 0o007 != 0 {
            remarks.note("--tls-key \(key): every user of this machine can access the key; run: chmod 600 \(key)", level: .warning)
        }
        return files
    }
}
