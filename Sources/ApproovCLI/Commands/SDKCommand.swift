import ApproovServer
import ArgumentParser
import Attestation
import Foundation

/// `approov sdk`: what apps ship with.
struct SDKCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sdk",
        abstract: "Write the initial configuration that an app ships with.",
        discussion: """
            approov sdk -getConfig approov-initial.config

            It names the authority with its pins and the keys that sign
            configurations; nothing in it is secret. The authority must have run
            once, so that its URL and pins are known.
            """)

    @Option(name: .dash("getConfig"), help: ArgumentHelp("The file to write.", valueName: "file"))
    var getConfig: String

    @Option(name: .long, help: ArgumentHelp("The authority's URL, in place of the one it was last served under.", valueName: "url"))
    var authority: String?

    @OptionGroup var store: StoreOptions

    func validate() throws {
        if let authority, URL(string: authority)?.scheme != "https" { throw ValidationError("--authority is not an https URL.") }
    }

    func run() async throws {
        let configuration = try await store.open().initialConfiguration(authority: authority.flatMap { URL(string: $0) })
        do {
            try Data(configuration.serialized).write(to: URL(filePath: getConfig), options: .atomic)
        } catch {
            throw CommandFailure("\(getConfig) cannot be written: \(error.localizedDescription)")
        }
        Console.line("wrote \(getConfig): account \(configuration.account), authority \(configuration.authority.absoluteString)")
    }
}
