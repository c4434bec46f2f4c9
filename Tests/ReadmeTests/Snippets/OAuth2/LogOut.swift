import Approov
import OAuth2

func logOut(_ credentials: OAuth2Credentials, of session: ApproovSession) async throws {
    try await credentials.logOut()
    await session.wipe()
}
