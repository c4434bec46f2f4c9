package import Foundation

extension URL {
    /// The path of a file to read; nil if the URL is not that of a file on this machine, or is ambiguous.
    ///
    /// Decoded, a NUL (`%00`) would end the path, and a slash (`%2F`) would begin another folder, so another file would be read.
    package var localPath: String? {
        let encoded = path(percentEncoded: true).lowercased()
        guard isFileURL, ["", "localhost"].contains((host() ?? "").lowercased()), !encoded.contains("%00"), !encoded.contains("%2f") else {
            return nil
        }
        return path(percentEncoded: false)
    }
}
