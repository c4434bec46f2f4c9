import Foundation
import OAuth2SecretService

func desktopCredentials(_ endpoints: OAuth2Endpoints, runtimeDirectory: URL) throws -> OAuth2Credentials {
    let store = SecretServiceTokenStore(name: "notes-app", lockDirectory: runtimeDirectory.appending(path: "notes-app"))
    return try OAuth2Credentials(endpoints: endpoints, store: store)
}
