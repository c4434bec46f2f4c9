import APIClient
import Approov
import ApproovTesting
import Foundation
import HTTPClient

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
    private static let others = siesta + conduit + conduitTokens + ckNetworking

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
}
