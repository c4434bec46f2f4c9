import Approov
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

extension NameUse {
    static let stations: [NameUse] = [
        NameUse("fetchSecureString(key, newDef)") { (_) async throws in
            let folder = try TemporaryFolder()
            let world = try World(stateDirectory: folder.url)
            let service = world.service
            world.authority.script.value.secureStrings = ["api-key": "secret-value"]
            #expect(try await service.secureString("api-key") == "secret-value")
            try service.setSecureString("own", for: "own-key")
            #expect(try service.removeSecureString("own-key"))
        },
        NameUse("addSubstitutionHeader, removeSubstitutionHeader") { (world) async throws in
            world.authority.script.value.secureStrings = ["api-key": "secret-value"]
            var settings: ApproovSessionConfiguration = ApproovSessionConfiguration()
            settings.substitutions = [try Substitution(hosts: ["api.test"], headers: ["Api-Key": ""])]
            let session = try ApproovSession(service: world.service, configuration: settings)
            _ = try await session.data(for: URLRequest("https://api.test/shapes", ["Api-Key": "api-key"]))
            #expect(world.apiRequests.first?.headerFields.contains { $0.value == "secret-value" } == true)
        },
        NameUse("addSubstitutionQueryParam, removeSubstitutionQueryParam") { (world) async throws in
            world.authority.script.value.secureStrings = ["api-key": "secret-value"]
            var settings: ApproovSessionConfiguration = ApproovSessionConfiguration()
            settings.substitutions = [try Substitution(hosts: ["api.test"], queryParameters: ["key"])]
            let session = try ApproovSession(service: world.service, configuration: settings)
            _ = try await session.data(for: URLRequest("https://api.test/shapes?key=api-key"))
            #expect(world.apiRequests.first?.url.target == "/shapes?key=secret-value")
        },
        NameUse("fetchCustomJWT(payload)") { (world) async throws in
            let service = world.service
            world.authority.script.value.secureStrings = [:]
            #expect(try await !service.customToken(["order": "1"], for: "partner.test").isEmpty)
        },
        NameUse("getInstallMessageSignature, getAccountMessageSignature, getMessageSignature") { (world) async throws in
            let service = world.service
            #expect(try await service.sign(Array("message".utf8), with: .installation).count == 64)
        },
        NameUse("SignatureParametersFactory, generateDefaultSignatureParametersFactory") { (world) async throws in
            var settings: ApproovSessionConfiguration = ApproovSessionConfiguration()
            #expect(settings.signing == nil)
            for signing in [MessageSigning.installation(keyID: "install"), MessageSigning.account(keyID: "account")] {
                settings.signing = signing
                _ = try ApproovSession(service: world.service, configuration: settings)
            }
        },
        NameUse("setBodyDigestConfig") { (_) async throws in
            var signing = MessageSigning.installation()
            #expect(!signing.signsStreamsWithoutDigest)
            signing.signsStreamsWithoutDigest = true
        },
    ]
}
