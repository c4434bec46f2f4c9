internal import HTTPTypes
internal import Hummingbird

extension Response {
    /// The response to a request without a token that passes.
    ///
    /// RFC 9110, section 15.5.2 requires a challenge; this one is the same for every failure.
    static var tokenRefused: Response { Response(status: .unauthorized, headers: [.wwwAuthenticate: "Approov"]) }
}
