import ApproovTesting
import CertificatePinning
import Foundation
import TestTags
import Testing

@Suite("approov keyset", .tags(.processes), .timeLimit(.minutes(5)))
struct KeysetCommandTests {
    @Test("-list prints each key pair with the date on which it was made, in UTC")
    func list() async throws {
        let folder = try TemporaryFolder()
        let data = ["--data", folder.path("data")]
        #expect(try await Approov.run(["keyset", "-add", "ES256", "-kid", "z"] + data).exitCode == 0)
        let listed = try #require(try await Approov.run(["keyset", "-list", "--json"] + data).json() as? [[String: String]])
        let date = try #require(listed.first?["addedAt"])
        #expect(date.wholeMatch(of: /20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
        #expect(try await Approov.run(["keyset", "-list"] + data).output == "z  ES256  \(date)\n")
    }

    @Test(
        "A malformed key identifier is an error, and no store is made",
        arguments: ["", "a b", "a+b", "ä", String(repeating: "k", count: 65)])
    func malformedIdentifier(kid: String) async throws {
        let folder = try TemporaryFolder()
        let run = try await Approov.run("keyset", "-add", "ES256", "-kid", kid, "--data", folder.path("data"))
        #expect(run.exitCode == 1 && run.errors.contains("the kid of a new keyset must be 1 to 64 letters"), "\(run.errors)")
        #expect(try folder.names.isEmpty)
    }

    @Test("A keyset for custom JWTs is marked in the list, no host can name it, and it cannot be removed while in use")
    func custom() async throws {
        let folder = try TemporaryFolder()
        func approov(_ arguments: String...) async throws -> ChildProcess.Run {
            try await Approov.run(arguments + ["--data", folder.path("data")])
        }
        #expect(try await approov("keyset", "-add", "RS256", "-kid", "a", "-use", "token").exitCode == 0)
        let added = try await approov("keyset", "-add", "ES256", "-kid", "b", "-use", "custom")
        #expect(added.exitCode == 0 && added.lines.count(where: { $0.hasSuffix("Z  custom") && $0.hasPrefix("b  ES256  ") }) == 1)
        #expect(added.lines.count == 2 && added.lines.first?.hasSuffix("Z") == true)
        let listed = try #require(try await approov("keyset", "-list", "--json").json() as? [[String: String]])
        #expect(listed.map { $0["use"] } == ["token", "custom"])
        let pins = [try TestKey().pin.description, try TestKey().pin.description]
        let host = try await approov("api", "-add", "api.example.com", "-pin", pins[0], "-pin", pins[1], "-keySetKID", "b")
        #expect(host.exitCode == 1 && host.errors.contains("signs custom JWTs") && host.errors.contains("keyset -add"), "\(host.errors)")
        #expect(try await approov("api", "-list").output.isEmpty)
        #expect(try await approov("customjwt", "-enable", "on").exitCode == 0)
        let inUse = try await approov("keyset", "-remove", "b")
        #expect(inUse.exitCode == 1 && inUse.errors.contains("customjwt -enable off"), "\(inUse.errors)")
        #expect(try await approov("customjwt", "-enable", "off").exitCode == 0)
        #expect(try await approov("keyset", "-remove", "b").output == "removed b\n")
    }

    @Test("-getPEM writes the public key of a keyset to a new file or standard output, and replaces no file")
    func publicKey() async throws {
        let folder = try TemporaryFolder()
        func approov(_ arguments: String...) async throws -> ChildProcess.Run {
            try await Approov.run(arguments + ["--data", folder.path("data")])
        }
        #expect(try await approov("keyset", "-add", "ES256", "-kid", "a").exitCode == 0)
        let printed = try await approov("keyset", "-kid", "a", "-getPEM", "-")
        #expect(printed.exitCode == 0 && printed.output.hasPrefix("-----BEGIN PUBLIC KEY-----\n"), "\(printed.errors)")
        let file = folder.path("a.pem")
        #expect(try await approov("keyset", "-kid", "a", "-getPEM", file).output == "wrote \(file): the public key of keyset a\n")
        #expect(try folder.text("a.pem") == printed.output)
        let second = try await approov("keyset", "-kid", "a", "-getPEM", folder.write("a private key", to: "own.key"))
        #expect(
            second.exitCode == 1 && second.errors.contains("own.key exists with other content, and is not replaced"), "\(second.errors)")
        #expect(try folder.text("own.key") == "a private key")
        let unknown = try await approov("keyset", "-kid", "b", "-getPEM", "-")
        #expect(unknown.exitCode == 1 && unknown.output.isEmpty && unknown.errors.contains("no keyset b"))
        let unwritable = try await approov("keyset", "-kid", "a", "-getPEM", folder.path("missing/a.pem"))
        #expect(unwritable.exitCode == 1 && unwritable.errors.contains("cannot be written"))
    }
}
