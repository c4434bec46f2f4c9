import ApproovTesting
import CertificatePinning
import Foundation
import TestTags
import Testing

@Suite("The policy from the command line", .tags(.processes), .timeLimit(.minutes(5)))
struct PolicyCommandTests {
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

    private func token() async throws -> String {
        try await approov("token", "-genExample", "api.example.com").lines.first ?? ""
    }

    @Test("The audience is on by default, and every change and -show print it")
    func shown() async throws {
        #expect(try await approov("policy", "-show").lines.contains("audience  on"))
        #expect(try await approov("policy", "-setAudience", "off").lines.contains("audience  off"))
        #expect(try await approov("policy", "-show").lines.contains("audience  off"))
        let json = try #require(try await approov("policy", "-show", "--json").json() as? [String: Any])
        #expect(json["audience"] as? Bool == false)
        #expect(try await approov("policy", "-setAudience", "maybe").exitCode == 2)
    }

    @Test(
        "Issuer and subject are off and the installation key is on at first; a change is shown and stays",
        arguments: [("-setIssuer", "issuer", false), ("-setSubject", "subject", false), ("-setInstallPubKey", "installPubKey", true)])
    func claimSwitches(option: String, name: String, isOnAtFirst: Bool) async throws {
        func shown() async throws -> Bool? {
            try #require(try await approov("policy", "-show", "--json").json() as? [String: Any])[name] as? Bool
        }
        #expect(try await shown() == isOnAtFirst)
        let changed = isOnAtFirst ? "off" : "on"
        #expect(try await approov("policy", option, changed).lines.contains("\(name)  \(changed)"))
        #expect(try await shown() == !isOnAtFirst)
        #expect(try await approov("policy", option, "maybe").exitCode == 2)
        #expect(try await approov("policy", option).exitCode == 2)
        #expect(try await shown() == !isOnAtFirst)
    }

    @Test("-setEnvironment may be repeated, and takes flag and action as two words or as FLAG=ACTION")
    func environment() async throws {
        let words = try await approov("policy", "-setEnvironment", "root", "reject", "-setEnvironment", "debugger", "ignore")
        #expect(words.lines.contains("root  reject") && words.lines.contains("debugger  ignore"), "\(words.errors)")
        let pairs = try await approov("policy", "-setEnvironment", "root=annotate", "-setEnvironment", "ld-preload=annotate")
        #expect(pairs.lines.contains("root  annotate") && pairs.lines.contains("ld-preload  annotate"), "\(pairs.errors)")
        let mixed = try await approov("policy", "-setEnvironment", "root", "ignore", "debugger=reject")
        #expect(mixed.lines.contains("root  ignore") && mixed.lines.contains("debugger  reject"), "\(mixed.errors)")
        for wrong in [["root="], ["root=reject=ignore"], ["=reject"], ["root", "debugger=reject"], ["root", "reject", "debugger"]] {
            #expect(try await Approov.run(["policy", "--data", data, "-setEnvironment"] + wrong).exitCode == 2, "\(wrong)")
        }
        let twice = try await approov("policy", "-setEnvironment", "root=reject", "root=ignore")
        #expect(twice.exitCode == 2 && twice.errors.contains("names root twice"), "\(twice.errors)")
        #expect(try await approov("policy").lines.contains("root  ignore"))
    }

    @Test("With issuer and subject on, tokens name the account and the device")
    func issuerAndSubject() async throws {
        #expect(try Approov.claims(of: try await token()).keys.sorted() == ["arc", "aud", "did", "exp", "iat", "ip", "ipk"])
        #expect(try await approov("policy", "-setIssuer", "on", "-setSubject", "on").exitCode == 0)
        let claims = try Approov.claims(of: try await token())
        #expect(claims["iss"] as? String != nil)
        #expect(claims["sub"] as? String == "approov|\(try #require(claims["did"] as? String))")
    }

    @Test("With the audience off, tokens have no aud claim, and a check for a host refuses them")
    func claims() async throws {
        #expect(try Approov.claims(of: try await token())["aud"] as? String == "api.example.com")
        #expect(try await approov("policy", "-setAudience", "off").exitCode == 0)
        let without = try await token()
        #expect(try Approov.claims(of: without)["aud"] == nil)
        #expect(try await approov("token", "-check", without).exitCode == 0)
        #expect(try await approov("token", "-check", without, "-host", "api.example.com").exitCode == 1)
        #expect(try await approov("policy", "-setAudience", "on").exitCode == 0)
        #expect(try Approov.claims(of: try await token())["aud"] as? String == "api.example.com")
    }

    @Test(
        "A PyJWT backend without an audience accepts tokens if the audience is off, and one with it if it is on",
        .enabled(PyJWTBackend.whatIsMissing) { await PyJWTBackend.isPossible() })
    func pyJWT() async throws {
        let secret = try await approov("secret", "-get", "base64").lines.first ?? ""
        let unaware = try await PyJWTBackend(secret: secret)
        let strict = try await PyJWTBackend(secret: secret, audience: "api.example.com")
        let other = try await PyJWTBackend(secret: secret, audience: "other.example.com")
        let with = try await token()
        #expect(try await unaware.answer(to: with) == "401 InvalidAudienceError")
        #expect(try await strict.answer(to: with) == "200 welcome")
        #expect(try await other.answer(to: with) == "401 InvalidAudienceError")
        #expect(try await approov("policy", "-setAudience", "off").exitCode == 0)
        let without = try await token()
        #expect(try await unaware.answer(to: without) == "200 welcome")
        #expect(try await strict.answer(to: without) == "401 MissingRequiredClaimError")
        let decoy = try await approov("token", "-genExample", "api.example.com", "-type", "invalid").lines.first ?? ""
        #expect(try await unaware.answer(to: decoy) == "401 InvalidSignatureError")
    }
}
