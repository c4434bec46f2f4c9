import Foundation

extension URL {
    /// The path of a file to send.
    ///
    /// - Throws: ``APIError`` with code `invalidBody` when the URL is no file URL.
    func pathOfFile() throws -> String {
        guard isFileURL else { throw APIError(.invalidBody, "the URL of the file to send is not a file URL: give one") }
        return path(percentEncoded: false)
    }
}
