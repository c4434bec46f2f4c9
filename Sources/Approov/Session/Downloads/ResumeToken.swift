public import Foundation

/// What is needed to resume a download: what was requested, which version of it, and the file with the bytes so far.
///
/// A token can be stored and used by a later process, as long as its file stays where it is. It contains the URL as requested, which may be
/// confidential.
public struct ResumeToken: Codable, Hashable, Sendable {
    /// The URL of the request.
    public let url: URL
    /// The strong ETag of the content (RFC 9110, section 8.8.3).
    public let etag: String
    /// The number of bytes in ``file`` that count.
    public internal(set) var offset: Int
    /// The number of bytes of the whole content; nil if unknown.
    public let total: Int?
    /// The temporary file, of mode 0600, with the bytes so far; remove it if the download is not resumed.
    public let file: URL
    /// Scheme, host and port of the server that gave the ETag; another server's ETag says nothing about these bytes.
    let origin: String
}
