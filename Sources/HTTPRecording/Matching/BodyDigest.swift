import Crypto
import Foundation
import HTTPClient

/// The hash of a request's body without its secrets, by which a replay can tell requests apart.
enum BodyDigest {
    /// Bodies up to this size have a digest.
    private static let maximumBytes = 16 << 20

    /// The SHA-256 of the redacted body in hexadecimal; nil for a stream, a file, a large body and one that cannot be redacted.
    static func text(of request: TransportRequest, _ redactor: Redactor, _ secrets: Set<String>) -> String? {
        let bytes: [UInt8]
        switch request.body {
        case .none: bytes = []
        case .bytes(let content) where content.count <= maximumBytes: bytes = content
        case .bytes, .file, .stream: return nil
        }
        guard let redacted = try? redactor.body(bytes, request.headerFields, secrets) else { return nil }
        return RedactedText.hexadecimal(SHA256.hash(data: redacted), count: 64)
    }
}
