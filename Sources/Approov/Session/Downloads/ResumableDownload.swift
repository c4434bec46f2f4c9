import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// The rules of a download that can be resumed (RFC 9110, section 14).
enum ResumableDownload {
    /// What a response to a request for the rest means.
    enum Answer: Equatable {
        /// The rest, after which the file has `size` bytes.
        case rest(size: Int)
        /// The whole content, or something of another version: the file begins again. `size` is in bytes, nil when unknown.
        case whole(size: Int?)
        /// The rest of something else: it must not be appended.
        case foreign
        /// There is no rest, because the token has all bytes.
        case complete
        /// There is no rest, and what the token has is not the content.
        case noRest
        /// Not the content, such as an error.
        case other
    }

    /// Checks a request, and asks for the rest.
    ///
    /// - Parameters:
    ///   - request: The caller's request.
    ///   - token: The download to resume; nil to begin.
    /// - Returns: The request to send.
    /// - Throws: ``ApproovError`` with code `badRequest` when the request cannot be resumed, or does not fit the token.
    static func prepare(_ request: URLRequest, resuming token: ResumeToken?) throws -> URLRequest {
        guard try request.method == .get, request.httpBody == nil, request.httpBodyStream == nil else {
            throw ApproovError(.badRequest, "only a GET request without a body can be resumed")
        }
        for name in ["Range", "If-Range"] where request.value(forHTTPHeaderField: name) != nil {
            throw ApproovError(.badRequest, "a download that can be resumed sets \(name) itself: remove it from the request")
        }
        var request = request
        // A range counts the bytes as sent, so they must not be packed.
        request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        guard let token else { return request }
        guard token.url == request.url else {
            throw ApproovError(
                .badRequest,
                "the token of the download to resume belongs to another URL: pass it with that download's request, or download again "
                    + "without it")
        }
        guard isStrong(token.etag), token.offset >= 0, token.offset <= token.total ?? .max else {
            throw ApproovError(.badRequest, "the token of the download to resume is damaged: download again without it")
        }
        guard token.offset > 0 else { return request }
        request.setValue("bytes=\(token.offset)-", forHTTPHeaderField: "Range")
        request.setValue(token.etag, forHTTPHeaderField: "If-Range")
        return request
    }

    /// Judges a response.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - token: The token whose rest was requested; nil if the whole content was.
    /// - Returns: What it means.
    static func answer(_ response: TransportResponse, to token: ResumeToken?) -> Answer {
        switch response.status {
        case 200: return .whole(size: size(of: response))
        case 206:
            // A server may send less than the rest (RFC 9110, section 15.3.7): only a range up to the known end makes the file complete.
            guard let token, token.offset > 0, let range = range(response), range.start == token.offset,
                token.total == nil || range.total == nil || range.total == token.total,
                let total = range.total ?? token.total, range.last == total - 1,
                response.headerFields[values: .eTag] == [token.etag], response.url.origin == token.origin,
                !response.headerFields.contains(.contentEncoding)
            else { return .foreign }
            return .rest(size: total)
        case 416:
            guard let token else { return .other }
            return hasAll(token, says: response) ? .complete : .noRest
        default: return .other
        }
    }

    /// Makes the token of a download whose content begins.
    ///
    /// - Parameters:
    ///   - request: The caller's request.
    ///   - response: A response with the whole content.
    ///   - file: The file.
    /// - Returns: The token; nil if the server does not give what a later request needs.
    static func token(for request: URLRequest, _ response: TransportResponse, file: URL) -> ResumeToken? {
        let etags = response.headerFields[values: .eTag]
        guard let url = request.url, etags.count == 1, isStrong(etags[0]), !response.headerFields.contains(.contentEncoding),
            response.headerFields[.acceptRanges]?.lowercased() != "none"
        else { return nil }
        return ResumeToken(
            url: url, etag: etags[0], offset: 0, total: size(of: response), file: file, origin: response.url.origin)
    }

    /// The number of bytes that a response announces; nil when it does not, or when they may be unpacked on the way.
    private static func size(of response: TransportResponse) -> Int? {
        guard !response.headerFields.contains(.contentEncoding) else { return nil }
        return response.headerFields[.contentLength].flatMap { number($0[...]) }
    }

    /// Whether the text is an entity-tag that is not weak: a weak one promises equal meaning, not equal bytes.
    static func isStrong(_ etag: String) -> Bool {
        let bytes = Array(etag.utf8)
        guard (2...1_024).contains(bytes.count), bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) }
    }

    /// Whether a response with status 416 says that the content ends where the token's bytes do.
    ///
    /// A server that knows If-Range looks at a range only if the content is still the one that the token is for.
    private static func hasAll(_ token: ResumeToken, says response: TransportResponse) -> Bool {
        let ranges = response.headerFields[values: .contentRange].map { $0.lowercased() }
        let etags = response.headerFields[values: .eTag]
        guard token.offset > 0, token.offset == token.total ?? token.offset, ranges == ["bytes */\(token.offset)"] else { return false }
        // Not every server looks at If-Range. Without an ETag, at least the size must be that of the content which the token is for.
        let isSame = etags.isEmpty ? token.total != nil : etags == [token.etag]
        return isSame && response.url.origin == token.origin
    }

    /// Reads Content-Range (RFC 9110, section 14.4) of one range.
    private static func range(_ response: TransportResponse) -> (start: Int, last: Int, total: Int?)? {
        let values = response.headerFields[values: .contentRange]
        guard values.count == 1, values[0].lowercased().hasPrefix("bytes ") else { return nil }
        let parts = values[0].dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let start = number(ends[0]), let last = number(ends[1]), start <= last else { return nil }
        if parts[1] == "*" { return (start, last, nil) }
        guard let total = number(parts[1]) else { return nil }
        return (start, last, total)
    }

    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }
}
