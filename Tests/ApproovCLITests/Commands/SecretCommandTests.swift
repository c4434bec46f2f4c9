import ApproovTesting
import CertificatePinning
import Foundation
import TestTags
import Testing

@Suite("approov secret", .tags(.processes), .timeLimit(.minutes(5)))
struct SecretCommandTests {
    private let folder: TemporaryFolder
    private let data: String

    init() async throws {
        folder = try TemporaryFolder()
        data = folder.path("data")
        let pins = [try TestKey().pin.description, try TestKey().pin.description]
        #expect(try await approov("api", "-add", "api.example.com", "-pin", pins[0], "-pin", pins[1]).exitCode == 0)
    }

    private func approov(_ arguments: String...) async throws -> ChildProcess.Run {
        try await Approov.run(arguments + ["--data", data])
    }

    @Test("A change without --yes says what it would do, exits 2 and changes no secret")
    func unconfirmed() async throws {
        let before = try await approov("secret", "-get", "base64").output
        let refused = try await approov("secret", "-change")
        #expect(refused.exitCode == 2 && refused.output.isEmpty)
        #expect(
            refused.errors.contains("signs with the old one for another 24h") && refused.errors.contains("Add --yes"), "\(refused.errors)")
        let atOnce = try await approov("secret", "-change", "-overlap", "0")
        #expect(atOnce.exitCode == 2 && atOnce.errors.contains("signs at once"), "\(atOnce.errors)")
        #expect(try await approov("secret", "-get", "base64").output == before)
    }

    @Test("With an overlap, -get prints the new secret, -previous prints the old one, and old tokens stay valid")
    func overlap() async throws {
        let before = try await approov("secret", "-get", "base64url").output
        let token = try await approov("token", "-genExample", "api.example.com").lines.first ?? ""
        let changed = try await approov("secret", "-change", "--yes", "-overlap", "10m")
        #expect(changed.exitCode == 0 && changed.output.contains("-previous"), "\(changed.errors)")
        let now = try await approov("secret", "-get", "base64url")
        #expect(now.output != before && now.errors.contains("backends need both"))
        #expect(try await approov("secret", "-get", "base64url", "-previous").output == before)
        #expect(try await approov("token", "-check", token).exitCode == 0)
        let again = try await approov("secret", "-change", "--yes")
        #expect(again.exitCode == 1 && again.errors.contains("-overlap 0"), "\(again.errors)")
        #expect(try await approov("secret", "-get", "base64url").output == now.output)
    }

    @Test("Without an overlap, old tokens fail at once, and the old secret is gone")
    func atOnce() async throws {
        let before = try await approov("secret", "-get", "base64url").output
        let token = try await approov("token", "-genExample", "api.example.com").lines.first ?? ""
        #expect(try await approov("secret", "-change", "--yes", "-overlap", "0").exitCode == 0)
        let now = try await approov("secret", "-get", "base64url")
        #expect(now.output != before && now.errors.isEmpty)
        let previous = try await approov("secret", "-get", "base64url", "-previous")
        #expect(previous.exitCode == 1 && previous.output.isEmpty && previous.errors.contains("no previous secret"))
        let refused = try await approov("token", "-check", token)
        #expect(refused.exitCode == 1 && refused.errors.contains("an older secret signed it"), "\(refused.errors)")
    }

    @Test("The message-signing key is made, printed, named in tokens by its first six characters, and replaced")
    func messageSigningKey() async throws {
        let none = try await approov("secret", "-messageSigningKey", "get-base64url")
        #expect(
            none.exitCode == 1 && none.output.isEmpty && none.errors.contains("secret -messageSigningKey change --yes"), "\(none.errors)")
        let made = try await approov("secret", "-messageSigningKey", "change", "--yes")
        let printed = try await approov("secret", "-messageSigningKey", "get-base64url").lines.first ?? ""
        let base64 = printed.replacing("-", with: "+").replacing("_", with: "/")
        let key = try #require(Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4)))
        #expect(key.count == 64 && key.allSatisfy { (0x21...0x7e).contains($0) })
        let id = String(decoding: key.prefix(6), as: UTF8.self)
        #expect(made.exitCode == 0 && made.output.contains("message-signing key to \(id);") && !made.output.contains(printed))
        let token = try await approov("token", "-genExample", "api.example.com").lines.first ?? ""
        #expect(try Approov.claims(of: token)["mskid"] as? String == id)
        #expect(try await approov("token", "-check", token).output.contains("\"mskid\":\"\(id)\""))
        #expect(try await approov("secret", "-messageSigningKey", "change", "--yes", "-overlap", "0").exitCode == 0)
        #expect(try await approov("secret", "-messageSigningKey", "get-base64url").lines.first != printed)
        #expect(try await approov("token", "-check", token).exitCode == 0, "the account secret did not change")
    }

    @Test("The message-signing key changes with --yes alone, and by default both keys are printed while apps receive the old one")
    func messageSigningKeyOverlap() async throws {
        func key(_ more: String...) async throws -> ChildProcess.Run {
            try await Approov.run(["secret", "-messageSigningKey", "get-base64url", "--data", data] + more)
        }
        #expect(try await approov("secret", "-messageSigningKey", "change", "--yes").exitCode == 0)
        let none = try await key("-previous")
        #expect(none.exitCode == 1 && none.errors.contains("no previous message-signing key"), "\(none.errors)")
        let first = try await key()
        #expect(first.errors.isEmpty)
        let refused = try await approov("secret", "-messageSigningKey", "change")
        #expect(
            refused.exitCode == 2 && refused.errors.contains("another 24h") && refused.errors.contains("Add --yes"), "\(refused.errors)")
        #expect(try await key().output == first.output)
        let changed = try await approov("secret", "-messageSigningKey", "change", "--yes")
        #expect(changed.exitCode == 0 && changed.output.contains("-previous") && !changed.output.contains(first.output))
        let second = try await key()
        #expect(second.output != first.output && second.errors.contains("backends need both"), "\(second.errors)")
        #expect(try await key("-previous").output == first.output)
        let again = try await approov("secret", "-messageSigningKey", "change", "--yes")
        #expect(again.exitCode == 1 && again.errors.contains("-overlap 0"), "\(again.errors)")
        #expect(try await approov("secret", "-messageSigningKey", "change", "--yes", "-overlap", "0").exitCode == 0)
        #expect(try await key("-previous").exitCode == 1)
    }
}
