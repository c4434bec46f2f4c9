public import Foundation

/// One part of a ``MultipartBody``: a named text, named bytes, or a named file (RFC 7578, section 4).
public struct FormPart: Sendable {
    /// The formats of images.
    public enum ImageType: String, Sendable {
        /// `image/jpeg`
        case jpeg = "image/jpeg"
        /// `image/png`
        case png = "image/png"
        /// `image/webp`
        case webp = "image/webp"
    }

    /// The formats of videos.
    public enum VideoType: String, Sendable {
        /// `video/quicktime`
        case mov = "video/quicktime"
        /// `video/mp4`
        case mp4 = "video/mp4"
        /// `video/x-flv`
        case flv = "video/x-flv"
        /// `application/x-mpegURL`
        case m3u8 = "application/x-mpegURL"
        /// `video/x-msvideo`
        case avi = "video/x-msvideo"
        /// `video/x-ms-wmv`
        case wmv = "video/x-ms-wmv"
    }

    /// The content of a part.
    public enum Content: Sendable {
        /// Text, as UTF-8 and without a media type, as browsers send the fields of a form.
        case text(String)
        /// Bytes in memory, with their media type.
        case data(Data, type: String)
        /// A regular file, read while it is sent, with its media type; its length is taken when the request is built and must not change.
        case file(path: String, type: String)

        /// A regular file, read while it is sent; its length is taken when the request is built and must not change.
        ///
        /// - Parameters:
        ///   - url: The file URL.
        ///   - type: The media type.
        /// - Returns: The content.
        /// - Throws: ``APIError`` with code `invalidBody` when the URL is not that of a file on this machine, or has `%00` or
        ///   `%2F` in its path.
        public static func file(_ url: URL, type: String) throws -> Content { .file(path: try url.pathOfFile(), type: type) }

        /// Bytes of any kind: `application/octet-stream`.
        public static func binary(_ data: Data) -> Content { .data(data, type: "application/octet-stream") }

        /// A PDF document: `application/pdf`.
        public static func pdf(_ data: Data) -> Content { .data(data, type: "application/pdf") }

        /// An encoded image.
        ///
        /// - Parameters:
        ///   - data: The image in that format.
        ///   - type: The format.
        /// - Returns: The content with its media type.
        public static func image(_ data: Data, _ type: ImageType) -> Content { .data(data, type: type.rawValue) }

        /// An encoded video.
        ///
        /// - Parameters:
        ///   - data: The video in that format.
        ///   - type: The format.
        /// - Returns: The content with its media type.
        public static func video(_ data: Data, _ type: VideoType) -> Content { .data(data, type: type.rawValue) }
    }

    /// The name of the form's field, byte by byte: UTF-8, or what a server with another encoding expects.
    public var nameBytes: [UInt8]
    /// The file name that the server is told, byte by byte; nil for none, and for a file the last component of its path.
    public var filenameBytes: [UInt8]?
    /// The content.
    public var content: Content
    /// Further headers of the part, by name; none by default.
    public var headers: [String: String] = [:]

    /// The name of the form's field; bytes that are not UTF-8 are read as U+FFFD.
    public var name: String {
        get { String(decoding: nameBytes, as: UTF8.self) }
        set { nameBytes = Array(newValue.utf8) }
    }

    /// The file name that the server is told; bytes that are not UTF-8 are read as U+FFFD.
    public var filename: String? {
        get { filenameBytes.map { String(decoding: $0, as: UTF8.self) } }
        set { filenameBytes = newValue.map { Array($0.utf8) } }
    }

    /// Makes a part.
    ///
    /// - Parameters:
    ///   - name: The name of the form's field, as UTF-8.
    ///   - filename: The file name that the server is told; nil for none, and for a file the last component of its path.
    ///   - content: The content.
    public init(name: String, filename: String? = nil, content: Content) {
        self.init(nameBytes: Array(name.utf8), filenameBytes: filename.map { Array($0.utf8) }, content: content)
    }

    /// Makes a part for a server that does not read UTF-8.
    ///
    /// The bytes of `"`, `\`, CR and LF are percent-encoded, even if they are part of a longer character. Names that you did not choose
    /// must consist of whole characters of the server's encoding: a server may join a byte that begins one with the quotation mark after
    /// the name.
    ///
    /// - Parameters:
    ///   - nameBytes: The name of the form's field, byte by byte.
    ///   - filenameBytes: The file name that the server is told, byte by byte; nil for none, and for a file the last component of its path.
    ///   - content: The content.
    public init(nameBytes: [UInt8], filenameBytes: [UInt8]? = nil, content: Content) {
        self.nameBytes = nameBytes
        self.filenameBytes = filenameBytes
        self.content = content
    }
}
