import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import OAuth2
import Synchronization
import Testing

@testable import NotesApp
@testable import NotesServer

// Acceptance list: S2.111
/// Runs the app against its server and a real authority, over TLS on loopback.
@Suite struct NotesAppTests {
    @Test("The app logs in by a browser, edits notes, uploads a picture and renews its token, and a log-out leaves nothing")
    func wholeLife() async throws {
        let world = try await NotesWorld.start()
        let browser = world.browser
        let account = try world.account()
        let app = try world.client(account)

        // No user is logged in, so nothing is sent.
        let early = await #expect(throws: ApproovError.self) { try await app.notes() }
        #expect(early?.code == .credentialMissing)
        #expect(world.server.counters.requests == 0)

        try await app.logIn { page in
            let shown = try await browser.logIn(on: page, as: "alice", password: "wonderland")
            #expect(shown.contains("return to the app"))
        }
        let bread = try await app.add("Buy bread")
        _ = try await app.add("Water the plants")
        _ = try await app.edit(bread.id, to: "Buy rye bread")
        #expect(try await app.notes().map(\.text) == ["Buy rye bread", "Water the plants"])

        // A picture, with its progress.
        let picture = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let file = world.state.appending(path: "bread.png")
        try picture.write(to: file)
        let progress = Mutex<[Int]>([])
        let note = try await app.setPicture(of: bread.id, toFile: file) { sent, total in
            #expect(total == 1_000_000)
            progress.withLock { $0.append(sent) }
        }
        #expect(note.pictureBytes == picture.count)
        let sent = progress.withLock { $0 }
        #expect(sent.last == picture.count && sent == sent.sorted())

        // Five minutes later the token has expired: the app renews it before it asks.
        let first = try await account.credentials.token().accessToken
        world.appClock.advance(by: .seconds(301))
        world.serverClock.advance(by: .seconds(301))
        #expect(world.logins.user(ofAccessToken: first) == nil)
        #expect(try await app.notes().count == 2)
        let second = try await account.credentials.token().accessToken
        #expect(second != first && world.logins.user(ofAccessToken: second) == "alice")

        // By the server's clock alone it has expired again: the app learns it by the answer 401.
        world.serverClock.advance(by: .seconds(301))
        #expect(try await app.notes().count == 2)
        let third = try await account.credentials.token().accessToken
        #expect(third != second)

        // Another start of the app finds the log-in in its encrypted file.
        let again = try world.client(world.account())
        #expect(try await again.notes().count == 2)

        try await again.logOut()
        #expect(world.logins.user(ofAccessToken: third) == nil)
        let requests = world.server.counters.requests
        for client in [app, again] {
            let late = await #expect(throws: ApproovError.self) { try await client.notes() }
            #expect(late?.code == .credentialMissing)
        }
        #expect(world.server.counters.requests == requests)
        #expect(try bytesLeft(in: world.state.appending(path: "login")) == 0)

        // The next user finds nothing of the first.
        try await again.logIn { page in _ = try await browser.logIn(on: page, as: "bob", password: "builder") }
        #expect(try await again.notes().isEmpty)
        await world.stop()
    }

    /// The bytes in the files of a folder.
    private func bytesLeft(in folder: URL) throws -> Int {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).reduce(0) {
            try $0 + Data(contentsOf: $1).count
        }
    }

    @Test("Recordings answer the app without a network, and hold no secret")
    func recordings() async throws {
        let world = try await NotesWorld.start()
        let browser = world.browser
        let account = try world.account()
        let folder = FileManager.default.temporaryDirectory.appending(path: "notes-recordings-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let live = try world.client(account, recordingInto: folder)
        try await live.logIn { page in _ = try await browser.logIn(on: page, as: "alice", password: "wonderland") }
        let added = try await live.add("Buy bread")
        let seen = try await live.notes()
        let token = try await account.credentials.token()
        await world.stop()

        let replayed = try NotesClient(replaying: folder, api: world.api)
        #expect(try await replayed.notes() == seen)
        #expect(try await replayed.add("Buy bread") == added)
        await #expect(throws: (any Error).self) { try await replayed.edit(added.id, to: "not recorded") }
        await #expect(throws: NotesClient.NoAccount.self) { try await replayed.logOut() }
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count == 4)
        for file in files {
            let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            #expect(!text.contains(token.accessToken))
            #expect(!text.contains("eyJ"), "a recording holds an attestation token")
        }
    }

    @Test("The committed recording answers the app without a network")
    func sampleRecording() async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../recordings/notes", directoryHint: .isDirectory).standardized
        let api = try #require(URL(string: "https://api.localhost:9443"))
        let app = try NotesClient(replaying: folder, api: api)
        #expect(try await app.notes().map(\.description) == ["1  Buy bread  [picture, 2048 bytes]", "2  Call Bob"])
        #expect(try await app.add("Buy rye").id == 3)
    }

    @Test("A refused log-in and a wrong password log no user in")
    func refused() async throws {
        let world = try await NotesWorld.start()
        let browser = world.browser
        let app = try world.client(world.account())
        let refused = await #expect(throws: OAuth2Error.self) {
            try await app.logIn { page in _ = try await browser.logIn(on: page, as: "alice", password: "wonderland", answer: "refuse") }
        }
        #expect(refused?.serverError == .accessDenied)
        await #expect(throws: Browser.Unusable.self) {
            try await app.logIn { page in _ = try await browser.logIn(on: page, as: "alice", password: "guess") }
        }
        await #expect(throws: ApproovError.self) { try await app.notes() }
        await world.stop()
    }

    @Test("The app sends nothing to a server with another key: no request of the user, and no refresh token")
    func otherServer() async throws {
        let world = try await NotesWorld.start()
        // Its certificate is valid for the host, under a root that the app does not accept for it.
        let other = try TestPKI.leaf(hosts: ["api.localhost"], issuer: TestPKI.root())
        let impostor = try await TestHTTPServer.start(certificate: other) { _ in TestResponse(text: "[]") }
        let api = try #require(URL(string: "https://api.localhost:\(impostor.port)"))
        let account = try Account(api: api, service: world.service, stateDirectory: world.state, clock: world.appClock)
        let app = try NotesClient(account: account, service: world.service, api: api)

        // A user who is logged in asks for notes.
        try await account.credentials.logIn(
            BearerToken(
                accessToken: "access", refreshToken: "refresh", issuedAt: world.appClock.date, expiresAt: world.appClock.date + 300))
        let refused = await #expect(throws: ApproovError.self) { try await app.notes() }
        #expect(refused?.code == .pinningError)

        // The token has expired, so the app renews it before it asks.
        world.appClock.advance(by: .seconds(301))
        let notRenewed = await #expect(throws: ApproovError.self) { try await app.notes() }
        #expect(notRenewed?.code == .pinningError && notRenewed?.isRetryable == false)

        #expect(impostor.counters.requests == 0)

        await impostor.stop()
        await world.stop()
    }

    @Test("The server refuses what comes without attestation, and an access token without the token that is bound to it")
    func bound() async throws {
        let world = try await NotesWorld.start()
        let browser = world.browser
        let account = try world.account()
        let app = try world.client(account)
        try await app.logIn { page in _ = try await browser.logIn(on: page, as: "alice", password: "wonderland") }
        let stolen = try await account.credentials.token().accessToken

        var request = URLRequest(url: world.api.appending(path: "notes"))
        request.setValue("Bearer \(stolen)", forHTTPHeaderField: "Authorization")
        // Another program has the access token and no attestation, or attestation that is not bound to it.
        #expect(try await browser.status(of: request) == 401)
        let unbound = await world.service.fetchToken(for: world.api, binding: nil)
        request.setValue(unbound.token, forHTTPHeaderField: "Approov-Token")
        #expect(try await browser.status(of: request) == 401)
        #expect(try await ApproovSession(service: world.service, bindHeader: "Authorization").data(for: request).1.statusCode == 200)

        // Without attestation, the server issues and revokes nothing: the access token still works.
        let refreshToken = try #require(try await account.credentials.token().refreshToken)
        for (path, form) in [
            ("token", "grant_type=refresh_token&refresh_token=\(refreshToken)&client_id=notes-app"),
            ("revoke", "token=\(stolen)&client_id=notes-app"),
        ] {
            var change = URLRequest(url: world.api.appending(path: path))
            change.httpMethod = "POST"
            change.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
            change.httpBody = Data(form.utf8)
            #expect(try await browser.status(of: change) == 401)
        }
        #expect(try await ApproovSession(service: world.service, bindHeader: "Authorization").data(for: request).1.statusCode == 200)
        await world.stop()
    }
}
