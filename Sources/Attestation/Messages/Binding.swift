import ApproovBase
import Crypto

/// How a token is bound to a value that travels beside it, such as an Authorization header.
public enum Binding {
    /// The `pay` claim of a bound token: padded base64 of the SHA-256 of the value's UTF-8 bytes, outer spaces and tabs taken off.
    ///
    /// Case and inner spaces count. The value is that of one field line: two lines of the name are the caller's error.
    public static func payHash(of value: String) -> String {
        Base64.encode(digest(of: value))
    }

    /// The 32 bytes that `payHash(of:)` encodes.
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

    /// Whether nothing of the value is left once outer spaces and tabs are taken off: then there is nothing to bind a token to.
    public static func isEmpty(_ value: String) -> Bool { value.utf8.allSatisfy(isBlank) }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
