import Foundation
import OAuth2

func logInOnAnotherDevice(_ credentials: OAuth2Credentials, show: @Sendable (String, URL) -> Void) async throws {
    let device = try await credentials.endpoints.authorizeDevice()
    show(device.userCode, device.verificationURI)  // the user opens the page on a telephone and types the code
    try await credentials.logIn(credentials.endpoints.token(for: device))
}
