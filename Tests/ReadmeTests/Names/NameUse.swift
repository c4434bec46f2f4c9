import APIClient
import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// The use of this package's names in one row of NAMES.md.
struct NameUse: Sendable {
    /// The row's first cell, without backticks.
    let row: String
    /// Uses the names, in an account with its authority.
    let run: @Sendable (World) async throws -> Void

    /// Makes a use; its source text contains every word of the names in the row's second cell.
    init(_ row: String, _ run: @escaping @Sendable (World) async throws -> Void) {
        self.row = row
        self.run = run
    }

    static let url = URL(string: "https://api.test/shapes") ?? URL(filePath: "/")

    static let all = originals + others
    /// The tables of Approov's names.
    private static let originals = setUp + tokens + hooks + errors + statuses + newer + signatures + claims + stations
    /// The tables of the other libraries' names.
    private static let others =
        siesta + conduit + conduitContent + conduitNetwork + conduitTokens + conduitStores + ckNetworking + ckEnvironments

    /// The recording that the package has as an example.
    static let sampleRecording = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Examples/recordings/notes", directoryHint: .isDirectory).standardized

    static func url(_ text: String) -> URL { URL(string: text) ?? url }

    /// A session without an account, whose requests the world's API answers.
    static func session(
        _ world: World, _ change: (inout ApproovSessionConfiguration) throws -> Void = { _ in }
    ) throws -> ApproovSession {
        try session(world.transport, change)
    }

    static func session(
        _ transport: any HTTPTransport, _ change: (inout ApproovSessionConfiguration) throws -> Void = { _ in }
    ) throws -> ApproovSession {
        var settings = ApproovSessionConfiguration()
        settings.transport = transport
        try change(&settings)
        return try ApproovSession(service: nil, configuration: settings)
    }

    static func client(_ world: World) throws -> APIClient { try APIClient(base: url("https://api.test/"), session: session(world)) }

    /// Whether a session without an account trusts a server at api.test with this certificate.
    static func trusts(
        _ certificate: TestCertificate, below root: TestCertificate, _ evaluators: [String: any ServerTrustEvaluating]
    ) async throws -> Bool {
        let transport = InProcessTransport(certificates: ["api.test": certificate]) { TransportResponse(status: 200, url: $0.url) }
        let trust = ApproovTrustManager(evaluators: evaluators, anchors: .of(root), logger: .silent)
        return try await isAnswered(ApproovSession(service: nil, trustManager: trust, configuration: .over(transport)))
    }

    /// Whether a session sends a request to api.test, and does not refuse the server.
    static func isAnswered(_ session: ApproovSession, _ url: URL = url) async throws -> Bool {
        do {
            return try await session.data(from: url).1.statusCode == 200
        } catch let error as ApproovError where error.code == .pinningError {
            return false
        }
    }

    /// The content of a request; a stream can be read once.
    static func text(of request: TransportRequest?) async throws -> String {
        let bytes = Shared<[UInt8]>([])
        try await request?.body.forEachPart { part in bytes.change { $0 += part } }
        return String(decoding: bytes.value, as: UTF8.self)
    }

    /// The value of a field of a request.
    static func field(_ name: String, of request: TransportRequest?) -> String? {
        HTTPField.Name(name).flatMap { request?.headerFields[$0] }
    }
}

extension World {
    /// Lets APIs give every request the same answer from now on.
    func answer(_ text: String, type: String = "application/json", status: Int = 200) {
        api.value = { request in
            TransportResponse(
                status: status, headerFields: [.contentType: type], url: request.url, body: ResponseBody(bytes: Array(text.utf8)))
        }
    }
}
