import ApproovBase
import Foundation

/// The content of a form with files, piece by piece; nothing is read ahead.
struct MultipartPieces: AsyncSequence, Sendable {
    /// A piece of the content.
    enum Piece: Sendable {
        /// Bytes in memory.
        case bytes([UInt8])
        /// A whole file, and its length when the request was built.
        case file(path: String, length: Int)
    }

    /// The most bytes that are read from a file at once.
    static let readSize = 64 << 10

    private let pieces: [Piece]

    init(_ pieces: [Piece]) { self.pieces = pieces }

    /// The length of the whole content in bytes; `Int.max` for what no server takes, such as sparse files of that size.
    var length: Int {
        pieces.reduce(0) { sum, piece in
            let length =
                switch piece {
                case .bytes(let bytes): bytes.count
                case .file(_, let length): length
                }
            let (total, isTooLong) = sum.addingReportingOverflow(length)
            return isTooLong ? .max : total
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(pieces: pieces) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let pieces: [Piece]
        private var next = 0
        private var file: OpenFile?

        fileprivate init(pieces: [Piece]) { self.pieces = pieces }

        mutating func next() async throws -> [UInt8]? {
            while true {
                if let part = try file?.read() { return part }
                file = nil
                guard next < pieces.count else { return nil }
                next += 1
                switch pieces[next - 1] {
                case .bytes(let bytes): return bytes
                case .file(let path, let length): file = try OpenFile(path, length: length)
                }
            }
        }
    }

    /// A file that is being sent.
    fileprivate final class OpenFile {
        private let file: ReadableFile
        private var left: Int

        init(_ path: String, length: Int) throws {
            guard let file = ReadableFile(path) else { throw Self.failure("cannot be opened: \(String(cString: strerror(errno)))") }
            guard let status = file.status, status.isRegular, status.size == length else {
                throw Self.failure("changed since the request was built; build the request again")
            }
            self.file = file
            left = length
        }

        /// The next bytes; nil at the end.
        func read() throws -> [UInt8]? {
            guard left > 0 else { return nil }
            var count: Int?
            let part = [UInt8](unsafeUninitializedCapacity: Swift.min(readSize, left)) { buffer, initialized in
                count = file.read(into: UnsafeMutableRawBufferPointer(buffer))
                initialized = count ?? 0
            }
            guard let count else { throw Self.failure("cannot be read: \(String(cString: strerror(errno)))") }
            guard count > 0 else { throw Self.failure("became shorter while it was sent") }
            left -= count
            return part
        }

        private static func failure(_ reason: String) -> APIError { APIError(.invalidBody, "a file of the form \(reason)") }
    }
}
