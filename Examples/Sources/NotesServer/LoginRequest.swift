/// What the app asks for by opening the log-in page (RFC 6749, section 4.1.1).
struct LoginRequest {
    static let clientID = "notes-app"

    let redirectURI: String
    let state: String
    let challenge: String

    /// Reads the parameters.
    ///
    /// A redirect URI that is not the app's could hand the code to another page, and a request without PKCE to another app. Neither is
    /// answered with a redirect.
    /// - Parameter parameters: The parameters; nil for one that is missing or occurs twice.
    init?(_ parameters: (String) -> String?) {
        guard parameters("client_id") == Self.clientID, parameters("response_type") == "code",
            parameters("code_challenge_method") == "S256",
            // The app listens on a port of this machine that the system picked (RFC 8252, section 7.3).
            let redirectURI = parameters("redirect_uri"), redirectURI.wholeMatch(of: /http:\/\/127\.0\.0\.1:[0-9]{1,5}\/callback/) != nil,
            let state = parameters("state"), state.wholeMatch(of: /[A-Za-z0-9_-]{1,128}/) != nil,
            let challenge = parameters("code_challenge"), challenge.wholeMatch(of: /[A-Za-z0-9_-]{43}/) != nil
        else { return nil }
        self.redirectURI = redirectURI
        self.state = state
        self.challenge = challenge
    }

    /// The parameters for the form of the page.
    ///
    /// All are letters, digits and signs that need no escape in HTML.
    var parameters: [(name: String, value: String)] {
        [
            ("client_id", Self.clientID), ("response_type", "code"), ("code_challenge_method", "S256"), ("redirect_uri", redirectURI),
            ("state", state), ("code_challenge", challenge),
        ]
    }
}
