internal import Crypto
internal import Foundation

/// Numbers as the content of a file whose damage is noticed.
///
/// The content is a mark of the format with its version, the numbers with 8 bytes each, the lowest byte first, and the SHA-256 of all that.
enum CheckedNumbers {
    private static let format: [UInt8] = Array("APVSEEN".utf8) + [1]
    private static let numberBytes = 8

    /// Makes the content of a file.
    struct Writer {
        private var bytes: [UInt8] = []

        /// Makes a writer.
        /// - Parameter count: How many numbers follow; their memory is reserved at once, because an array that grows is copied.
        init(count: Int) {
            bytes.reserveCapacity(format.count + count * numberBytes + SHA256.byteCount)
            bytes += format
        }

        /// Adds a number.
        mutating func add(_ number: UInt64) {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }

        /// Adds the checksum after the last number.
        /// - Returns: The content of the file.
        mutating func finish() -> [UInt8] {
            let digest = SHA256.hash(data: bytes)
            bytes.append(contentsOf: digest)
            return bytes
        }
    }

    /// Reads the content of a file.
    struct Reader {
        private let bytes: [UInt8]
        private var offset = format.count

        /// Makes a reader; nil when the content is damaged or has another format.
        init?(_ bytes: [UInt8]) {
            let count = bytes.count - SHA256.byteCount
            guard count >= format.count, bytes.starts(with: format),
                SHA256.hash(data: bytes[..<count]).elementsEqual(bytes[count...])
            else { return nil }
            self.bytes = bytes
        }

        /// How many numbers are left.
        var remaining: Int { (bytes.count - SHA256.byteCount - offset) / numberBytes }

        /// The next number; nil after the last one.
        mutating func next() -> UInt64? {
            guard remaining > 0 else { return nil }
            defer { offset += numberBytes }
            return bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
        }
    }
}
