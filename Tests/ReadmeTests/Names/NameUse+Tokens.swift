import Approov
import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

extension NameUse {
    /// The headers of the request that a session with these settings sends to the API.
    private static func sent(
        by world: World, _ change: (inout ApproovSessionConfiguration) throws -> Void
    ) async throws -> [String: String] {
        var settings = ApproovSessionConfiguration()
        try change(&settings)
        let session = try ApproovSession(service: world.service, configuration: settings)
        _ = try await session.data(for: URLRequest("https://api.test/shapes", ["Authorization": "Bearer a", "X-Device": "d"]))
        let fields = try #require(world.apiRequests.last).headerFields
        return Dictionary(fields.map { ($0.name.canonicalName, $0.value) }, uniquingKeysWith: { $1 })
    }

    /// The hash that a token is bound to.
    private static func binding(of token: String) throws -> String? {
        let payload = try #require(token.split(separator: ".").dropFirst().first)
        let claims = try JSONSerialization.jsonObject(with: Data(#require(Base64URL.decode(String(payload)))))
        return (claims as? [String: Any])?["pay"] as? String
    }

    static let tokens: [NameUse] = [
        NameUse("setApproovHeader, Approov-Token") { (world) async throws in
            #expect(TokenHeader().name == "Approov-Token" && TokenHeader().prefix == "")
            let sent = try await sent(by: world) { (settings: inout ApproovSessionConfiguration) in
                settings.tokenHeader = TokenHeader(name: "X-Token", prefix: "Token ")
            }
            #expect(sent["x-token"]?.hasPrefix("Token ey") == true)
        },
        NameUse("setApproovTraceIDHeader, getApproovTraceIDHeader, Approov-TraceID") { (world) async throws in
            var header = TokenHeader()
            #expect(header.traceIDName == "Approov-TraceID")
            header.traceIDName = nil
            let settings = header
            #expect(try await sent(by: world) { $0.tokenHeader = settings }["approov-traceid"] == nil)
            #expect(try await sent(by: world) { _ in }["approov-traceid"] != nil)
        },
        NameUse("setBindingHeader") { (world) async throws in
            let one = try await sent(by: world) { (settings: inout ApproovSessionConfiguration) in settings.bindHeader = "Authorization" }
            #expect(try binding(of: #require(one["approov-token"])) == Binding.payHash(of: "Bearer a"))
            let both = try await sent(by: world) { $0.bindHeaders = ["Authorization", "X-Device"] }
            #expect(try binding(of: #require(both["approov-token"])) == Binding.payHash(of: "Bearer ad"))
        },
        NameUse("setDataHashInToken") { (world) async throws in
            let service = world.service
            #expect(try await binding(of: service.fetchToken(for: url, binding: "data").token) == Binding.payHash(of: "data"))
            let sent = try await sent(by: world) { (settings: inout ApproovSessionConfiguration) in settings.binding = { _ in "more" } }
            #expect(try binding(of: #require(sent["approov-token"])) == Binding.payHash(of: "more"))
        },
        NameUse("setUseApproovStatusIfNoToken") { (world) async throws in
            world.authority.script.value.fault = { _ in throw TransportError(.connectionFailed, "no") }
            let sent = try await sent(by: world) {
                $0.tokenHeader = TokenHeader(sendsStatusWithoutToken: true, statusCase: .upper)
                $0.sendsWithoutTokenWhenAuthorityIsDown = true
            }
            #expect(sent["approov-token"] == TokenFetchStatus.noNetwork.wireName)
        },
        NameUse("fetchToken") { (world) async throws in
            let service = world.service
            #expect(await service.fetchToken(for: url, binding: nil).status == .success)
        },
        NameUse("prefetch") { (world) async throws in
            let service = world.service
            service.prefetch(for: url, binding: nil)
            #expect(await service.fetchToken(for: url).status == .success)
            _ = try await sent(by: world) { (settings: inout ApproovSessionConfiguration) in settings.prefetchToken = true }
        },
        NameUse("precheck, precheck-dummy-key") { (world) async throws in
            let service = world.service
            world.authority.script.value.secureStrings = [:]
            try await service.precheck(policy: StandardPolicy())
        },
        NameUse("getDeviceID") { (world) async throws in
            let service = world.service
            #expect(service.deviceID == world.attester.deviceID)
        },
        NameUse("getLastARC") { (world) async throws in
            let service = world.service
            let result: TokenFetchResult = await service.fetchToken(for: url)
            #expect(service.lastResult?.arc == result.arc && !result.arc.isEmpty)
        },
        NameUse("isConfigChanged") { (world) async throws in
            let service = world.service
            _ = service.configurationEvents()
            let result: TokenFetchResult = await service.fetchToken(for: url)
            #expect(!result.isConfigChanged)
        },
        NameUse("traceID") { (world) async throws in
            let result: TokenFetchResult = await world.service.fetchToken(for: url)
            #expect(!result.traceID.isEmpty)
        },
        NameUse("loggableToken") { (world) async throws in
            let result: TokenFetchResult = await world.service.fetchToken(for: url)
            #expect(result.loggableToken.contains(#""sip":"#))
        },
        NameUse("getPins") { (world) async throws in
            let service = world.service
            #expect(service.configuration.hosts["api.test"]?.pins.count == 2)
        },
        NameUse(#"getPinsJSON("public-key-sha256")"#) { (world) async throws in
            let service = world.service
            #expect(service.configuration.pinsJSON.hasPrefix(#"{"api.test":[""#))
        },
        NameUse("getInstallPublicKey") { (world) async throws in
            #expect(TokenClaims(exp: 1, ipk: "key").ipk == "key")
        },
        NameUse("addExclusionURLRegex, removeExclusionURLRegex, getExclusionURLRegex") { (world) async throws in
            let globs = [try URLGlob("https://api.test/**")]
            let byPattern = try await sent(by: world) { (settings: inout ApproovSessionConfiguration) in settings.excludedURLs = globs }
            let byClosure = try await sent(by: world) { $0.excluding = { $0.path() == "/shapes" } }
            #expect(byPattern["approov-token"] == nil && byClosure["approov-token"] == nil)
        },
        NameUse("setProceedOnNetworkFailure, setProceedOnNetworkFail") { (world) async throws in
            world.authority.script.value.fault = { _ in throw TransportError(.connectionFailed, "no") }
            let sent = try await sent(by: world) { (settings: inout ApproovSessionConfiguration) in
                settings.sendsWithoutTokenWhenAuthorityIsDown = true
            }
            #expect(sent["approov-token"] == nil)
        },
    ]
}
