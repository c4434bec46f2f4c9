import Approov
import ApproovTesting
import Attestation
import Crypto
import Foundation
import HTTPClient
import Testing

@Suite("The service's development key") struct ServiceDevelopmentKeyTests {
    private let url = URL(string: "https://api.test/shapes") ?? URL(filePath: "/")

    private func service(_ world: World, developmentKey: String?, record: LogRecord) throws -> ApproovService {
        try ApproovService(
            configuration: try ApproovConfiguration(try world.account.initial()), stateDirectory: FileManager.default.temporaryDirectory,
            attester: world.attester, store: MemoryStore(), transport: world.transport, clock: world.clock,
            developmentKey: developmentKey, logger: record.logger)
    }

    @Test("Evidence proves the key that the service was given, and nothing that is sent or logged contains it", arguments: [true, false])
    func proof(hasKey: Bool) async throws {
        let (world, record, key) = (try World(), LogRecord(), DevelopmentKey.generate())
        let service = try service(world, developmentKey: hasKey ? key.base64url : nil, record: record)
        #expect(await service.fetchToken(for: url).status == .success)
        let evidence = try #require(world.authority.seen.value.attestations.first)
        #expect(
            evidence.developmentKey
                == (hasKey ? key.proof(challenge: evidence.challenge, installationKey: world.attester.key.publicKey) : nil))
        for request in world.transport.requests {
            guard case .bytes(let bytes) = request.body else { continue }
            #expect(!String(decoding: bytes, as: UTF8.self).contains(key.base64url))
        }
        #expect(!record.lines.joined().contains(key.base64url) && !"\(world.attester.requests)".contains(key.base64url))
    }

    @Test(
        "A malformed key is an initialization error that says how to get one, and does not show it", arguments: ["", "AAAA", "secret key"])
    func malformed(text: String) async throws {
        let record = LogRecord()
        let world = try World()
        let error = try #require(throws: ApproovError.self) { try service(world, developmentKey: text, record: record) }
        #expect(error.code == .initializationError)
        #expect("\(error)".contains("approov devkey -get"))
        #expect(text.isEmpty || !"\(error) \(record.lines)".contains(text))
    }
}
