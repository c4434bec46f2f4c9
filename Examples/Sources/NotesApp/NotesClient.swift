import APIClient
import Approov
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPRecording
import OAuth2

/// Calls the notes API.
///
/// Each request carries the user's access token, and an attestation token that is bound to it, and leaves only for a server with the API's
/// pins.
struct NotesClient: Sendable {
    /// No user can log in or out where recordings answer.
    struct NoAccount: Error, CustomStringConvertible {
        let description = "recordings have no users: leave out --recordings to log in or out"
    }

    private let account: Account?
    private let client: APIClient

    /// Makes a client that calls the API.
    /// - Parameters:
    ///   - account: The user's log-in.
    ///   - service: The source of attestation tokens and pins.
    ///   - api: The API's URL.
    ///   - folder: Where to record the API's answers, without secrets; nil records nothing.
    /// - Throws: `ApproovError`, `APIError` or `TransportError` when the settings cannot be used.
    init(account: Account, service: ApproovService, api: URL, recordingInto folder: URL? = nil) throws {
        let hosts = try [HostPattern(api.host() ?? "")]
        var configuration = ApproovSessionConfiguration()
        configuration.bindHeader = "Authorization"
        configuration.interceptors = [try OAuth2Interceptor(account.credentials, hosts: hosts)]
        if let folder { configuration.transport = try RecordingTransport(wrapping: CurlTransport(), into: folder) }
        self.account = account
        client = try APIClient(base: api, session: ApproovSession(service: service, configuration: configuration))
    }

    /// Makes a client that a recording answers, without a network, an account and attestation.
    /// - Parameters:
    ///   - folder: The folder with the recording.
    ///   - api: The URL that was called.
    /// - Throws: `TransportError` when the folder holds no recording that can be used.
    init(replaying folder: URL, api: URL) throws {
        account = nil
        var configuration = ApproovSessionConfiguration()
        configuration.transport = try ReplayTransport(from: folder)
        client = try APIClient(base: api, session: ApproovSession(service: nil, configuration: configuration))
    }

    // MARK: The user

    /// Lets the user log in.
    func logIn(opening open: @Sendable (URL) async throws -> Void) async throws {
        guard let account else { throw NoAccount() }
        try await account.logIn(opening: open)
    }

    /// Logs the user out, so that nothing of theirs is left for the next one: no token here or at the server, and no request in flight.
    func logOut() async throws {
        guard let account else { throw NoAccount() }
        // The session's interceptor then ends the requests in flight, and leaves no cookie.
        try await account.credentials.logOut()
    }

    // MARK: Notes

    /// The user's notes, oldest first.
    func notes() async throws -> [Note] { try await client.get("notes") }

    /// Adds a note.
    func add(_ text: String) async throws -> Note { try await client.post("notes", parameters: ["text": text]) }

    /// Changes the text of a note.
    func edit(_ id: Int, to text: String) async throws -> Note { try await client.put("notes/\(id)", parameters: ["text": text]) }

    /// Puts a picture on a note.
    /// - Parameters:
    ///   - id: The note.
    ///   - file: The picture; it is read while it is sent.
    ///   - onProgress: Called with the number of bytes sent, and their total.
    /// - Returns: The note.
    /// - Throws: `APIError` when the API refuses the picture; `ApproovError` when it could not be sent.
    func setPicture(of id: Int, toFile file: URL, onProgress: @escaping @Sendable (Int, Int) -> Void) async throws -> Note {
        let picture = try RawBody(file: file)
        return try await client.resource("notes/\(id)/picture").send(.put, body: picture, as: Note.self) { progress in
            onProgress(progress.completed, progress.total ?? progress.completed)
        }
    }
}
