import ArgumentParser
import HTTPServing

/// The option `--trusted-proxy`, for servers behind a balancer that passes TLS through.
struct TrustedProxyOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Peers that must speak the PROXY protocol, version 2; the address that they name is the client's. Repeatable. Default: no peer.
            """, valueName: "cidr"))
    var trustedProxy: [String] = []

    func validate() throws {
        do throws(AddressRange.Malformed) {
            for text in trustedProxy { _ = try AddressRange(text) }
        } catch {
            throw ValidationError("--trusted-proxy \(error.message).")
        }
    }
}
