internal import Glibc

/// What the listener answers a browser: a status and a short page.
struct LoopbackAnswer: Error, Equatable {
    let status: String
    let text: String

    // The app has not exchanged the code yet, so the log-in may still fail.
    static let accepted = Self(status: "200 OK", text: "The app has received the answer. Close this page and return to the app.")
    static let notAuthorized = Self(status: "200 OK", text: "The app was not authorized. Close this page and return to the app.")
    static let refused = Self(status: "400 Bad Request", text: "This address does not belong to the log-in that the app waits for.")
    static let malformed = Self(status: "400 Bad Request", text: "The request is malformed.")
    static let wrongHost = Self(status: "421 Misdirected Request", text: "This is another server.")
    static let notFound = Self(status: "404 Not Found", text: "There is no page here.")
    static let wrongMethod = Self(status: "405 Method Not Allowed", text: "Only GET is allowed.")
    static let tooLarge = Self(status: "431 Request Header Fields Too Large", text: "The request is too large.")

    /// Writes the answer and ends the connection.
    ///
    /// A browser that does not read it loses it: the app never waits.
    func send(to descriptor: Int32) {
        let page = "<!DOCTYPE html><meta charset=utf-8><title>Log-in</title><p>\(text)</p>\n"
        let message = Array(
            """
            HTTP/1.1 \(status)\r
            Content-Type: text/html; charset=utf-8\r
            Content-Length: \(page.utf8.count)\r
            Cache-Control: no-store\r
            Referrer-Policy: no-referrer\r
            Content-Security-Policy: default-src 'none'\r
            X-Content-Type-Options: nosniff\r
            Connection: close\r
            \r
            \(page)
            """.utf8)
        // MSG_NOSIGNAL: a browser that closed must not end the app.
        _ = Glibc.send(descriptor, message, message.count, Int32(MSG_NOSIGNAL))
        shutdown(descriptor, Int32(SHUT_WR))
    }
}
