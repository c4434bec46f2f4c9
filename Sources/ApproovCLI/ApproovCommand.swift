import ArgumentParser
import Attestation

/// The root command, `approov`, which only lists its subcommands.
struct ApproovCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approov",
        abstract: "App attestation and TLS pinning: run and administer an authority, and make attested calls.",
        discussion: """
            See it work:       approov demo
            Run an authority:  approov serve --data DIR --listen 127.0.0.1:8443
            Protect a host:    approov api -add HOST -pinFrom CERTIFICATE -pin BACKUP
            Register an app:   approov registration -add EXECUTABLE
            Ship with an app:  approov sdk -getConfig approov-initial.config
            Make a call:       approov call https://HOST/path
            Hide clients:      approov gateway, approov relay, approov oblivious

            Exit codes: 0 success, 1 failure, 2 wrong usage. `call` adds 22 (the
            status is not 2xx) and 60 (the server's certificate or pins were refused);
            `pin -check` adds 60; `demo` adds 128 and the number of the signal that
            interrupted it, such as 130 for Ctrl-C.
            """,
        version: "approov \(ApproovVersion.current)",
        subcommands: [
            DemoCommand.self, ServeCommand.self, CallCommand.self, APICommand.self, SDKCommand.self, RegistrationCommand.self,
            TokenCommand.self, SecretCommand.self, KeysetCommand.self, PolicyCommand.self, PinCommand.self, RelayCommand.self,
            DeviceCommand.self, ForcePassCommand.self, ForceFailCommand.self, DevkeyCommand.self,
            GatewayCommand.self,
            ObliviousCommand.self,
            SecureStringsCommand.self, CustomJWTCommand.self,
        ])
}
