import Foundation
import FoundationNetworking
import HTTPTransport
import HTTPTypes

/// The cookies of a wrapped session: sent from its storage, and put there.
struct SessionCookies: Sendable {
    private let storage: HTTPCookieStorage

    /// Nil when the configuration wants no cookies.
    init?(_ configuration: URLSessionConfiguration) {
        guard configuration.httpShouldSetCookies, configuration.httpCookieAcceptPolicy != .never,
            let storage = configuration.httpCookieStorage
        else { return nil }
        self.storage = storage
    }

    /// The value of the Cookie header for a URL; nil without cookies.
    func header(for url: URL) -> String? {
        guard let cookies = storage.cookies(for: url), !cookies.isEmpty else { return nil }
        return HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
    }

    /// Puts the cookies of a response into the storage.
    func store(from response: TransportResponse, to url: URL) {
        // One by one: values of several lines joined with commas cannot be told apart again.
        for value in response.headerFields[values: .setCookie] {
            let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": value], for: url)
            if !cookies.isEmpty { storage.setCookies(cookies, for: url, mainDocumentURL: nil) }
        }
    }
}
