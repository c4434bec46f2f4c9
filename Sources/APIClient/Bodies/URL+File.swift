import ApproovBase
import Foundation

extension URL {
    /// The path of a file to send.
    ///
    /// - Throws: ``APIError`` with code `invalidBody` when the URL is no file URL, names another machine, or has a NUL or a slash in
    ///   percent-encoded form.
    func pathOfFile() throws -> String {
        guard let path = localPath else {
            throw APIError(
                .invalidBody,
                "the URL of the file to send is not that of a file on this machine, or has %00 or %2F in its path: make it with"
                    + " URL(filePath:)")
        }
        return path
    }
}
