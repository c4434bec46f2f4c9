import Crypto
import Foundation
import HTTPClient

/// The hash of a request's body without its secrets, by which a replay can tell requests apart.
package enum BodyDigest {
    /// Bodies up to this size have a digest.
    package static let maximumBytes = 16 << 20

    /// The SHA-256 of the redacted body in hexadecimal; nil for a stream, a file, a large body and one that cannot be redacted.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - redactor: The rules.
    ///   - secrets: The values that were redacted in the request's head.
    ///   - found: Gets the values that are redacted in the body. They do not count elsewhere in it: a replay sends other ones, which may be
    ///     equal to nothing else.
    /// - Returns: The digest.
    static func text(
        of request: TransportRequest, _ redactor: Redactor, _ secrets: Set<NotedSecret>, found: inout Set<NotedSecret>
    ) -> String? {
        guard let bytes = bytes(of: request), let body = try? redactor.body(bytes, request.headerFields, found: &found) else { return nil }
        let redacted = redactor.scrubbed(secrets, of: body, request.headerFields)
        return RedactedText.hexadecimal(SHA256.hash(data: redacted), count: 64)
    }

    /// The text for a recording; nil if the body has no digest or its secrets cannot be found.
    ///
    /// Such a body may be a secret and nothing else, such as a code of six digits, which readers of the recording find by trying.
    /// The secrets that have a name in it are noted nevertheless, so that the response's body loses them.
    static func recordedText(
        of request: TransportRequest, _ redactor: Redactor, _ secrets: Set<NotedSecret>, found: inout Set<NotedSecret>
    ) -> String? {
        guard let bytes = bytes(of: request), let digest = text(of: request, redactor, secrets, found: &found) else { return nil }
        return redactor.rules.bodies == .keep || redactor.findsSecrets(in: bytes, request.headerFields) ? digest : nil
    }

    private static func bytes(of request: TransportRequest) -> [UInt8]? {
        switch request.body {
        case .none: []
        case .bytes(let content) where content.count <= maximumBytes: content
        case .bytes, .file, .stream: nil
        }
    }
}
