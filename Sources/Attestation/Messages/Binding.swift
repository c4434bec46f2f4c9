@_spi(Internals) import ApproovBase
import Crypto

/// Computes how a token is bound to a value that travels with it, such as an Authorization header.
public enum Binding {
    /// Returns the `pay` claim of a token bound to `value`.
    ///
    /// It is the padded base64 of the SHA-256 of the value's UTF-8 bytes, without leading and trailing spaces and tabs. Case and inner
    /// spaces count. The value must come from a single field line; the caller must refuse several.
    public static func payHash(of value: String) -> String {
        withDigest(of: value) { Base64.encode($0) }
    }

    /// Returns the 32 bytes that ``payHash(of:)`` encodes.
    public static func digest(of value: String) -> [UInt8] { withDigest(of: value) { Array($0) } }

    private static func withDigest<Result>(of value: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var value = value
        return value.withUTF8 { bytes in
            let trimmed = UnsafeBufferPointer(rebasing: OptionalWhitespace.trimmed(bytes))
            var hash = SHA256()
            hash.update(bufferPointer: UnsafeRawBufferPointer(trimmed))
            return hash.finalize().withUnsafeBytes(body)
        }
    }

    /// Whether the value consists only of spaces and tabs or is empty; no token can be bound to it.
    public static func isEmpty(_ value: String) -> Bool { value.utf8.allSatisfy(OptionalWhitespace.contains) }

    /// What a request says in one of its binding headers.
    package enum Line: Sendable {
        /// The request does not have the header.
        case missing
        /// The value of the header's only field line.
        case one(String)
        /// The header has several field lines, or a value to which no token is bound.
        case unusable
    }

    /// What a request says in all its binding headers together; the indices are those of the headers.
    package enum Joined: Sendable, Hashable {
        /// The value that the request's token is bound to.
        case value(String)
        /// A header is missing, or its value is empty, which counts as missing.
        case missing(index: Int, isEmpty: Bool)
        /// A header cannot be used.
        case unusable(index: Int)
    }

    /// Joins the values of a request's binding headers to the value that its token is bound to.
    ///
    /// The value consists of the header's values in the order of the configuration, each without leading and trailing spaces and tabs,
    /// without a separator. Client and token check both call this function, so that they agree on every byte.
    ///
    /// - Parameters:
    ///   - count: The number of binding headers.
    ///   - line: Returns what the request says in the header with this index.
    /// - Returns: The value; a header that cannot be used comes before a missing one.
    package static func join(count: Int, line: (_ index: Int) -> Line) -> Joined {
        var joined = ""
        var missing: Joined?
        for index in 0..<count {
            switch line(index) {
            case .unusable: return .unusable(index: index)
            case .missing: missing = missing ?? .missing(index: index, isEmpty: false)
            case .one(let value) where isEmpty(value): missing = missing ?? .missing(index: index, isEmpty: true)
            // The only value is not copied.
            case .one(let value): joined = index == 0 ? trimmed(value) : joined + trimmed(value)
            }
        }
        return missing ?? .value(joined)
    }

    /// Returns the value without leading and trailing spaces and tabs: bytes, not characters, because a mark may follow a space.
    private static func trimmed(_ value: String) -> String {
        let trimmed = OptionalWhitespace.trimmed(value.utf8)
        return trimmed.count == value.utf8.count ? value : String(Substring(trimmed))
    }
}
