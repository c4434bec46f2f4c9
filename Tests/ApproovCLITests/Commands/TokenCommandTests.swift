import ApproovTesting
import CertificatePinning
import Foundation
import TestTags
import Testing

@Suite("approov token", .tags(.processes), .timeLimit(.minutes(5)))
struct TokenCommandTests {
    private let folder: TemporaryFolder
    private let data: String

    init() async throws {
        folder = try TemporaryFolder()
        data = folder.path("data")
        try await addHost(to: data)
    }

    private func addHost(to data: String) async throws {
        let pins = [try TestKey().pin.description, try TestKey().pin.description]
        let run = try await Approov.run("api", "-add", "api.example.com", "-pin", pins[0], "-pin", pins[1], "--data", data)
        #expect(run.exitCode == 0, "\(run.errors)")
    }

    private func approov(_ arguments: String...) async throws -> ChildProcess.Run {
        try await Approov.run(arguments + ["--data", data])
    }

    private func example(_ options: String...) async throws -> String {
        let run = try await Approov.run(["token", "-genExample", "api.example.com", "--data", data] + options)
        return try #require(run.lines.first)
    }

    @Test("-genExample prints an object with --json")
    func exampleObject() async throws {
        let object = try #require(try await approov("token", "-genExample", "api.example.com", "--json").json() as? [String: String])
        #expect(object.count == 1 && object["token"]?.split(separator: ".").count == 3)
    }

    @Test("-arc explains a code in words and as JSON, with a remedy")
    func explanation() async throws {
        let code = try #require(try Approov.claims(of: await example("-type", "invalid"))["arc"] as? String)
        let text = try await approov("token", "-arc", code)
        #expect(text.exitCode == 0 && text.lines.first == "rejected: app-not-registered")
        #expect(text.output.contains("not registered with the account") && text.output.contains("approov registration -add"))
        let json = try #require(try await approov("token", "-arc", code, "--json").json() as? [String: Any])
        #expect(json["passed"] as? Bool == false && json["reasons"] as? [String] == ["app-not-registered"])
        #expect((json["remedies"] as? [String])?.first?.contains("approov registration -add") == true)
        #expect(json["issuedAt"] as? String != nil && (json["devicePrefix"] as? String)?.count == 4)

        let passed = try #require(try Approov.claims(of: await example())["arc"] as? String)
        let good = try await approov("token", "-arc", passed)
        #expect(good.lines.first == "passed" && good.output.contains("signed the token with the account's key"))
    }

    @Test("An example token lives as long as one of the authority's, and a decoy as well", arguments: ["valid", "invalid"])
    func lifetime(type: String) async throws {
        let claims = try Approov.claims(of: await example("-type", type))
        #expect(try #require(claims["exp"] as? Int) - #require(claims["iat"] as? Int) == 300)
    }

    @Test("-host accepts every spelling of the host, and a malformed one is wrong usage")
    func audience() async throws {
        let token = try await example()
        for host in ["api.example.com", "API.example.com", "api.example.com."] {
            #expect(try await approov("token", "-check", token, "-host", host).exitCode == 0, "\(host)")
        }
        for host in ["", "a b", "https://api.example.com", "api.example.com:443"] {
            let run = try await approov("token", "-check", token, "-host", host)
            #expect(run.exitCode == 2 && run.errors.contains("-host must be a host name"), "\(run.errors)")
        }
    }

    @Test("-check refuses a token and says why")
    func cause() async throws {
        let decoy = try await example("-type", "invalid")
        let failed = try await approov("token", "-check", decoy)
        #expect(failed.exitCode == 1 && failed.output.isEmpty)
        #expect(failed.errors.contains("the attestation failed (app-not-registered)"), "\(failed.errors)")
        #expect(failed.errors.split(separator: "\n").count == 1 && !failed.errors.contains(decoy))

        // Also for a host with a keyset, whose tokens have another algorithm.
        let pins = [try TestKey().pin.description, try TestKey().pin.description]
        #expect(try await approov("keyset", "-add", "ES256", "-kid", "k").exitCode == 0)
        let added = try await approov("api", "-add", "k.example.com", "-pin", pins[0], "-pin", pins[1], "-keySetKID", "k")
        #expect(added.exitCode == 0, "\(added.errors)")
        let keyset = try await approov("token", "-genExample", "k.example.com", "-type", "invalid").lines.first ?? ""
        let refused = try await approov("token", "-check", keyset)
        #expect(refused.errors.contains("the attestation failed (app-not-registered)"), "\(refused.errors)")

        let token = try await example("-setDataHashInToken", "Bearer a")
        let other = folder.path("other")
        try await addHost(to: other)
        let foreign = try await Approov.run("token", "-check", token, "--data", other)
        #expect(foreign.exitCode == 1 && foreign.errors.contains("another account's key signed it"), "\(foreign.errors)")
        let audience = try await approov("token", "-check", token, "-host", "b.example.com")
        #expect(audience.exitCode == 1 && audience.errors.contains("its aud claim is api.example.com"), "\(audience.errors)")
        let binding = try await approov("token", "-check", token, "-setDataHashInToken", "Bearer b")
        #expect(binding.exitCode == 1 && binding.errors.contains("the header's value changed in transit"), "\(binding.errors)")
        let garbage = try await approov("token", "-check", "a.b.c")
        #expect(garbage.exitCode == 1 && garbage.errors.contains("not a token"), "\(garbage.errors)")
    }
}
