import ApproovGateway
import ApproovTesting
import Foundation
import TestTags
import Testing

@Suite(.tags(.sockets)) struct GatewayTests {
    @Test("A gateway fails with cannotListen on a port where another server listens")
    func portTaken() async throws {
        try await RunningGateway.with(allow: ["https://api.example.com"]) { first in
            let port = try #require(URL(string: first.url)?.port)
            let second = try Gateway(
                keys: first.file, configuration: GatewayConfiguration(port: port, allowedOrigins: ["https://api.example.com"]),
                logger: .silent)
            await refuses(.cannotListen) { try await second.run() }
        }
    }
}
