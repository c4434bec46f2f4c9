import Approov
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Logging
import Testing

extension NameUse {
    static let setUp: [NameUse] = [
        NameUse("initialize(config)") { (world) async throws in
            let configuration = try ApproovConfiguration(try world.account.initial())
            let folder = try TemporaryFolder()
            _ = try ApproovService(configuration: configuration, stateDirectory: folder.url)
        },
        NameUse("bypass mode (empty configuration)") { (world) async throws in
            #expect(throws: ApproovError.self) { try ApproovConfiguration("") }
            var settings = ApproovSessionConfiguration()
            settings.transport = world.transport
            let session = try ApproovSession(service: nil, configuration: settings)
            _ = try await session.data(from: url)
            #expect(world.apiRequests.first?.headerFields[.approovToken] == nil && world.apiRequests.count == 1)
        },
        NameUse("configuration string") { (world) async throws in
            let folder = try TemporaryFolder()
            let text = String(decoding: try world.account.initial().serialized, as: UTF8.self)
            let file = try folder.write(text, to: ApproovConfiguration.fileName)
            #expect(
                try ApproovConfiguration(text).initial.serialized
                    == ApproovConfiguration(contentsOf: URL(filePath: file)).initial.serialized)
            // The working directory of this test may have a file or not.
            _ = try? ApproovConfiguration.bundled()
        },
        NameUse("updateConfig, fetchConfig") { (world) async throws in
            let service = world.service
            #expect(try await service.refreshConfiguration() == false)
        },
        NameUse("setLoggingLevel") { (world) async throws in
            let folder = try TemporaryFolder()
            var logger = Logger(label: "approov") { _ in SwiftLogNoOpLogHandler() }
            logger.logLevel = .error
            let configuration = try ApproovConfiguration(try world.account.initial())
            _ = try ApproovService(configuration: configuration, stateDirectory: folder.url, logger: logger)
        },
        NameUse("ApproovURLSession") { (world) async throws in
            var settings = ApproovSessionConfiguration()
            settings.transport = world.transport
            let session = try ApproovSession(wrapping: .shared, service: world.service, configuration: settings)
            _ = try await session.data(from: url)
            #expect(world.apiRequests.first?.headerFields[.approovToken] != nil)
        },
        NameUse("updateRequestWithApproov") { (world) async throws in
            let interceptor = try ApproovInterceptor(service: world.service)
            let request = try await interceptor.adapt(URLRequest(url: url))
            #expect(request.value(forHTTPHeaderField: "Approov-Token") != nil)
        },
        NameUse("setDevKey") { (world) async throws in
            let folder = try TemporaryFolder()
            let configuration = try ApproovConfiguration(try world.account.initial())
            #expect(throws: ApproovError(.initializationError, "")) {
                _ = try ApproovService(configuration: configuration, stateDirectory: folder.url, developmentKey: "malformed")
            }
        },
    ]
}
