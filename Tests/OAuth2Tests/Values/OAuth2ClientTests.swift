import ApproovTesting
import Foundation
import Testing

@testable import OAuth2

// Acceptance list: S2.19
@Suite struct OAuth2ClientTests {
    @Test("Basic form-encodes identifier and secret before it joins them")
    func basic() throws {
        let client = try OAuth2Client(id: "a:b", secret: ClientSecret("p%:+ w"), server: Samples.server())
        let value = try #require(client.basicHeader)
        #expect(Data(base64Encoded: String(value.dropFirst(6))) == Data("a%3Ab:p%25%3A%2B%20w".utf8))
    }

    @Test("A secret that contradicts the authentication, and identifiers with other characters, are refused")
    func refused() throws {
        #expect(code(as: OAuth2Error.self) { try Samples.client(secret: nil, authentication: .basic) } == .configurationError)
        #expect(
            code(as: OAuth2Error.self) { try Samples.client(secret: "x", authentication: OAuth2Client.Authentication.none) }
                == .configurationError)
        for id in ["", "a\n", "ä"] {
            #expect(code(as: OAuth2Error.self) { try OAuth2Client(id: id, server: Samples.server()) } == .configurationError)
        }
    }

    @Test("No description, debug description or dump shows a secret or a token")
    func redacted() throws {
        var text = ""
        let token = try Samples.token("SECRET1", refresh: "SECRET2")
        let request = try AuthorizationRequest(client: Samples.client(secret: "SECRET3"), redirectURI: Samples.url("http://127.0.0.1/cb"))
        let more = [(name: "api_key", value: "SECRET7")]
        let device = DeviceAuthorization(
            deviceCode: "SECRET8", userCode: "SECRET9", verificationURI: Samples.url("https://login.test/go"), verificationURIComplete: nil,
            lifetime: .seconds(60), interval: .seconds(5), deadline: .seconds(60))
        let values: [Any] = [
            token, try Samples.client(secret: "SECRET3"), request,
            PasswordGrant(username: "u", password: "SECRET4", additionalParameters: more),
            RefreshGrant(refreshToken: "SECRET2", additionalParameters: more),
            AuthorizationCodeGrant(
                code: "SECRET5", redirectURI: Samples.url("http://127.0.0.1/cb"), verifier: request.verifier, additionalParameters: more),
            ExtensionGrant(type: "x", parameters: [("assertion", "SECRET6")]), device, DeviceCodeGrant(device, additionalParameters: more),
            ClientCredentialsGrant(additionalParameters: more), RefreshTokenStrategy(additionalParameters: more),
            ConduitTokenFile(Samples.url("file:///token.bin"), passphrase: "SECRET10", salt: "SECRET11"),
        ]
        for value in values {
            text += "\(value)"
            print(value, to: &text)
            debugPrint(value, to: &text)
            dump(value, to: &text)
        }
        #expect(!text.contains("SECRET"))
        #expect(!text.contains(request.state) && !text.contains(request.verifier))
    }
}
