import ApproovTesting
import Foundation
import HTTPTypes
import OAuth2
import TestTags
import Testing

@Suite("What a session leaves on the disk", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct SessionFilesTests {
    @Test(
        "A process with an ephemeral session keeps cookies while it runs, and writes neither them nor responses that may be stored",
        arguments: [true, false])
    func files(isEphemeral: Bool) async throws {
        let root = try TestPKI.root()
        let cookies = Shared<[String?]>([])
        let server = try await TestHTTPServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root)) { request in
            cookies.change { $0.append(request.headerFields[.cookie]) }
            return TestResponse(
                headerFields: [
                    .contentType: "text/plain", .cacheControl: "max-age=3600", .eTag: "\"1\"", .setCookie: "id=1; Path=/; Max-Age=3600",
                ], text: "may be stored")
        }
        // What the process works with, and in another folder all that it may write elsewhere.
        let (own, home) = (try TemporaryFolder(), try TemporaryFolder())
        let client = try OAuth2Client(
            id: "app", secret: ClientSecret("s"), server: OAuth2Server(tokenURL: Samples.url("\(server.url)/token")))
        let store = FileTokenStore(directory: own.file("tokens"), key: .file(own.file("keys/k")))
        try await store.store(
            Samples.token("a0", life: 1_000_000), for: TokenKey(client: client, authorization: Authorization(level: .user)))
        let roots = try own.write(root.pem, to: "roots.pem")
        let before = try files(below: own)
        let run = try await ChildProcess.run(
            ChildProcess.beside("oauth2-worker"),
            ["requests", own.path("tokens"), own.path("keys/k"), roots, server.url, "2", "1"] + (isEphemeral ? [] : ["default"]),
            in: home.url, environment: ["HOME": home.path, "TMPDIR": home.path])
        await server.stop()
        #expect(run.exitCode == 0 && run.output == "200\n200\n", "\(run.errors)")
        // Both requests reached the server, the second one with the cookie of the first.
        #expect(cookies.value == [nil, "id=1"])
        #expect(try files(below: own) == before)
        // The default session shows that this folder is where Foundation writes.
        let written = try files(below: home)
        #expect(isEphemeral ? written.isEmpty : written.contains { $0.contains(".cookies.") }, "\(written)")
    }

    /// The paths of all entries below a folder that are not folders themselves, sorted.
    private func files(below folder: TemporaryFolder) throws -> [String] {
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { path in
            var isFolder: ObjCBool = false
            return !(FileManager.default.fileExists(atPath: folder.path(path), isDirectory: &isFolder) && isFolder.boolValue)
        }
        return files.sorted()
    }
}
