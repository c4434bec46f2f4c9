import ArgumentParser
import HTTPServing

/// The option `--trusted-proxy`, for servers behind a balancer that passes TLS through.
struct TrustedProxyOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Addresses of balancers, which must send the client's address by the PROXY protocol, version 2. Repeatable. Default: none.
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
