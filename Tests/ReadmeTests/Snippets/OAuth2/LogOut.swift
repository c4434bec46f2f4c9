import OAuth2

func logOut(_ credentials: OAuth2Credentials) async throws {
    try await credentials.logOut()  // wipes the sessions as well
}
