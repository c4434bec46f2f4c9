import Foundation
import OAuth2

func notesClient(at login: URL) throws -> OAuth2Client {
    let server = try OAuth2Server(
        tokenURL: login.appending(path: "token"), authorizationURL: login.appending(path: "authorize"),
        revocationURL: login.appending(path: "revoke"), scope: "notes", issuer: login.absoluteString)
    return try OAuth2Client(id: "notes-app", server: server)
}
