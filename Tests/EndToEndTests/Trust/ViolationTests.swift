import Approov
import ApproovAuthority
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPTypes
import Synchronization
import TestTags
import Testing

@Suite("Reports of pin violations", .tags(.sockets), .timeLimit(.minutes(5)))
struct ViolationTests {
    private final class Inbox: Sendable {
        private let list = Mutex<[(path: String, body: [UInt8], headers: String)]>([])
        var all: [(path: String, body: [UInt8], headers: String)] { list.withLock { $0 } }
        func add(_ path: String, _ body: [UInt8], _ headers: String) { list.withLock { $0.append((path, body, headers)) } }

        func wait(for count: Int) async throws {
            try #require(await eventually { all.count >= count })
        }
    }

    private func session(_ world: LoopbackWorld, reports: URL) async throws -> (ApproovService, ApproovSession, ApproovTrustManager) {
        let state = world.folder.file("reporting-app")
        let initial = try await world.authority.initialConfiguration()
        let service = try ApproovService(
            configuration: ApproovConfiguration(initial), stateDirectory: state,
            attester: InstallationAttester(stateDirectory: state, executable: world.executable))
        let anchors = try TrustAnchors(pem: world.root.pem)
        let manager = ApproovTrustManager(anchors: anchors, reports: ViolationReports(to: reports, anchors: anchors))
        let session = try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: service, trustManager: manager,
            bindHeader: LoopbackWorld.bindingHeader)
        return (service, session, manager)
    }

    private func call(_ url: URL, _ session: ApproovSession) async throws -> Int {
        var request = URLRequest(url: url)
        request.setValue("Bearer alice-secret", forHTTPHeaderField: LoopbackWorld.bindingHeader)
        return try await session.data(for: request).1.statusCode
    }

    @Test("An impostor is reported once for five calls, with its certificates and without secrets of the request")
    func impostor() async throws {
        try await LoopbackWorld.with { world in
            let inbox = Inbox()
            let collector = try await world.server { request in
                inbox.add(request.path, try await request.body.collect(), "\(request.headerFields)")
                return TestResponse(.noContent)
            }
            let impostor = try await world.impostor()
            let reports = try world.url("/reports", host: LoopbackWorld.openHost, port: collector.port)
            let (_, session, manager) = try await session(world, reports: reports)
            let url = try world.url("/shapes", port: impostor.port)
            for _ in 0..<5 {
                await #expect(throws: ApproovError.self) { _ = try await call(url, session) }
            }
            try await inbox.wait(for: 1)
            let report = try #require(inbox.all.first)
            #expect(inbox.all.count == 1 && report.path == "/reports")
            let json = try #require(try JSONSerialization.jsonObject(with: Data(report.body)) as? [String: Any])
            #expect(json["hostname"] as? String == LoopbackWorld.apiHost && json["port"] as? Int == impostor.port)
            #expect(json["validation-result"] as? Int == 1 && json["enforce-pinning"] as? Bool == true)
            #expect((json["validated-certificate-chain"] as? [String])?.count == 2)
            for text in [String(decoding: report.body, as: UTF8.self), report.headers] {
                #expect(!text.contains("alice-secret") && !text.lowercased().contains("approov-token"))
            }
            var violations = manager.violations().makeAsyncIterator()
            #expect(await violations.next()?.host == LoopbackWorld.apiHost)
            // Reports are sent in order: if the five calls had made more than one report, another host's would not be the second.
            let other = try world.url("/shapes", host: LoopbackWorld.otherHost, port: impostor.port)
            await #expect(throws: ApproovError.self) { _ = try await call(other, session) }
            try await inbox.wait(for: 2)
            let second = try #require(try JSONSerialization.jsonObject(with: Data(inbox.all[1].body)) as? [String: Any])
            #expect(second["hostname"] as? String == LoopbackWorld.otherHost)
            await impostor.stop()
            await collector.stop()
        }
    }

    @Test("A signed enforce: false allows and reports a server with other keys; enforce: true refuses it again")
    func killSwitch() async throws {
        try await LoopbackWorld.with { world in
            let inbox = Inbox()
            let collector = try await world.server { request in
                inbox.add(request.path, try await request.body.collect(), "")
                return TestResponse(.noContent)
            }
            // The operator changed the server's key and forgot the pins.
            let changed = try await world.server { _ in TestResponse(text: "changed") }
            let reports = try world.url("/reports", host: LoopbackWorld.openHost, port: collector.port)
            let (service, session, _) = try await session(world, reports: reports)
            let url = try world.url("/shapes", port: changed.port)
            await #expect(throws: ApproovError.self) { _ = try await call(url, session) }
            try await world.authority.store.updateHost(LoopbackWorld.apiHost) { $0.enforce = false }
            _ = try await service.refreshConfiguration()
            #expect(try await call(url, session) == 200)
            try await inbox.wait(for: 2)
            let enforced = try inbox.all.map {
                (try JSONSerialization.jsonObject(with: Data($0.body)) as? [String: Any])?["enforce-pinning"] as? Bool
            }
            #expect(enforced == [true, false])
            try await world.authority.store.updateHost(LoopbackWorld.apiHost) { $0.enforce = true }
            _ = try await service.refreshConfiguration()
            await #expect(throws: ApproovError.self) { _ = try await call(url, session) }
            await changed.stop()
            await collector.stop()
        }
    }

    @Test("Requests do not wait for a report server that refuses connections or never answers", arguments: [true, false])
    func deadReportServer(isSilent: Bool) async throws {
        try await LoopbackWorld.with { world in
            let silent = try await RawServer.start(certificate: TestPKI.leaf(hosts: LoopbackWorld.names, issuer: world.root)) {
                connection in
                _ = try await connection.receiveHead()
                try await waitForCancellation()
            }
            let port = silent.port
            if !isSilent { await silent.stop() }
            let reports = try world.url("/reports", host: LoopbackWorld.openHost, port: port)
            let (service, session, _) = try await session(world, reports: reports)
            try await world.authority.store.updateHost(LoopbackWorld.apiHost) { $0.enforce = false }
            let others = try (0..<2).map { _ in try TestKey().pin.description }
            try await world.authority.store.setPins(others, forHost: LoopbackWorld.apiHost)
            _ = try await service.refreshConfiguration()
            // If these calls waited for the reports, they would wait until the test's time limit.
            for _ in 0..<20 { #expect(try await call(world.url("/shapes"), session) == 200) }
            if isSilent { await silent.stop() }
        }
    }
}
