import ApproovBase
import Crypto

/// Computes how a token is bound to a value that travels with it, such as an Authorization header.
public enum Binding {
    /// Returns the `pay` claim of a token bound to `value`.
    ///
    /// It is the padded base64 of the SHA-256 of the value's UTF-8 bytes, without leading and trailing spaces and tabs. Case and inner
    /// spaces count. The value must come from a single field line; the caller must refuse several.
    public static func payHash(of value: String) -> String {
        Base64.encode(digest(of: value))
    }

    /// Returns the 32 bytes that ``payHash(of:)`` encodes.
    public static func digest(of value: String) -> [UInt8] {
        var value = value
        return value.withUTF8 { bytes in
            var start = bytes.startIndex
            var end = bytes.endIndex
            while start < end, isBlank(bytes[start]) { start += 1 }
            while end > start, isBlank(bytes[end - 1]) { end -= 1 }
            var hash = SHA256()
            hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[start..<end]))
            return Array(hash.finalize())
        }
    }

    /// Whether the value consists only of spaces and tabs or is empty; no token can be bound to it.
    public static func isEmpty(_ value: String) -> Bool { value.utf8.allSatisfy(isBlank) }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
