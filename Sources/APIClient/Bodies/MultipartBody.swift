import ApproovBase
import Foundation
import HTTPClient

/// A form with files: `multipart/form-data` (RFC 7578).
///
/// ```swift
/// let body = MultipartBody([
///     FormPart(name: "kitten", filename: "mr-jingles.jpg", content: .image(picture, .jpeg)),
///     FormPart(name: "film", content: .file(path: "/var/tmp/cats.mov", type: "video/quicktime")),
/// ])
/// ```
///
/// Files are read while they are sent, so that a form with files takes no more memory than one without, and its length is known to the
/// server from the beginning. A form with files is a stream: the session sends it once, without a retry and without a renewal after a 401,
/// and a session that signs refuses it unless `signsStreamsWithoutDigest` is set. A form without files is sent from memory.
public struct MultipartBody: BodySerializer {
    /// The parts, in their order.
    public var parts: [FormPart]
    private let boundaries: @Sendable () -> String

    /// Makes a form.
    ///
    /// - Parameter parts: The parts, in their order.
    public init(_ parts: [FormPart] = []) {
        self.init(parts, boundaries: Self.randomBoundary)
    }

    /// Makes a form whose boundary is the first of these that no part in memory contains.
    init(_ parts: [FormPart], boundaries: @escaping @Sendable () -> String) {
        self.parts = parts
        self.boundaries = boundaries
    }

    /// Adds a part at the end.
    ///
    /// - Parameter part: The part.
    public mutating func append(_ part: FormPart) { parts.append(part) }

    /// Makes the content.
    ///
    /// - Returns: The content, with the media type that names the boundary.
    /// - Throws: ``APIError`` with code `invalidBody` when there is no part, or a file cannot be opened or is not a regular file, and
    ///   `invalidHeader` when a media type or a header of a part is malformed.
    public func serialize() throws -> SerializedBody {
        guard !parts.isEmpty else { throw APIError(.invalidBody, "the form has no parts; append at least one") }
        let boundary = boundary()
        var pieces: [MultipartPieces.Piece] = []
        var text: [UInt8] = []
        for part in parts {
            text += "--\(boundary)\r\n".utf8
            text += try part.header()
            switch part.content {
            case .text(let content): text += content.utf8
            case .data(let content, _): text += content
            case .file(let path, _):
                let length = try Self.length(of: path, in: part)
                pieces += [.bytes(text), .file(path: path, length: length)]
                text = []
            }
            text += "\r\n".utf8
        }
        text += "--\(boundary)--\r\n".utf8
        let contentType = "multipart/form-data; boundary=\(boundary)"
        guard !pieces.isEmpty else { return SerializedBody(contentType: contentType, body: .bytes(text)) }
        let content = MultipartPieces(pieces + [.bytes(text)])
        return SerializedBody(contentType: contentType, body: .stream(length: content.length, RequestBodyStream(content)))
    }

    /// A boundary that does not occur in the parts in memory; that it occurs in a file is as unlikely as guessing a key of 128 bits.
    private func boundary() -> String {
        while true {
            let boundary = boundaries()
            let bytes = Array(boundary.utf8)
            let isFree = parts.allSatisfy { part in
                switch part.content {
                case .text(let content): content.utf8.firstRange(of: bytes) == nil
                case .data(let content, _): content.firstRange(of: bytes) == nil
                case .file: true
                }
            }
            if isFree { return boundary }
        }
    }

    private static func randomBoundary() -> String {
        "form-" + SystemRandom.bytes(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func length(of path: String, in part: FormPart) throws -> Int {
        do {
            return try RequestBody.file(path: path).length ?? 0
        } catch {
            throw APIError(.invalidBody, "the file of the part \(LoggableText.name(part.name)) cannot be sent", cause: error)
        }
    }
}
