import ApproovBase
import Foundation
import HTTPClient

/// Reads the folder of a recording.
struct RecordingFolder: Sendable {
    /// The largest accepted body.
    static let maximumBodyBytes = 64 << 20
    /// The most exchanges in one folder.
    static let maximumExchanges = 9_999
    /// The most bytes of all heads together, which a replay holds in memory.
    static let maximumHeadBytes = 64 << 20

    let path: String

    init(_ url: URL) { path = url.path(percentEncoded: false) }

    /// Reads the heads of all exchanges in the order of their names, which is that of their recording.
    ///
    /// - Parameter limit: The most bytes of all heads together.
    /// - Returns: The heads with the names of their files.
    /// - Throws: `TransportError` with code `recordingMissing`, which names the folder or the first file that cannot be used.
    func exchanges(
        upTo limit: Int = RecordingFolder.maximumHeadBytes
    ) throws(TransportError) -> [(name: String, exchange: RecordedExchange)] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(RecordingName.headSuffix) }.sorted()
        } catch {
            throw Self.missing("the folder \(shownPath) cannot be read: check the path, or record exchanges into it")
        }
        guard !names.isEmpty else { throw Self.missing("the folder \(shownPath) has no recorded exchange: record one into it") }
        guard names.count <= Self.maximumExchanges else {
            throw Self.missing("the folder \(shownPath) has more than \(Self.maximumExchanges) exchanges: split it")
        }
        var exchanges: [(name: String, exchange: RecordedExchange)] = []
        var room = limit
        for name in names {
            let bytes = try read(name, upTo: RecordedExchange.maximumBytes)
            room -= bytes.count
            guard room >= 0 else {
                throw Self.missing("the .json files of the folder \(shownPath) have more than \(limit) bytes together: split it")
            }
            do throws(RecordedExchange.Damage) {
                exchanges.append((name, try RecordedExchange(parsing: bytes)))
            } catch {
                throw Self.missing("\(shownPath(of: name)) is damaged: \(error.reason); record the exchange again, or remove the file")
            }
        }
        return exchanges
    }

    /// Reads a file of the folder, which must be a regular file and no link.
    ///
    /// - Throws: `TransportError` with code `recordingMissing`, which names the file.
    func read(_ name: String, upTo limit: Int) throws(TransportError) -> [UInt8] {
        let path = shownPath(of: name)
        guard let file = ReadableFile(self.path(of: name), followsLink: false) else {
            let number = errno
            guard number != ELOOP else { throw Self.missing("\(path) is a symbolic link: replace it by the file itself") }
            throw Self.missing("\(path) cannot be opened: \(String(cString: strerror(number))); record the exchange again")
        }
        guard file.status?.isRegular == true else { throw Self.missing("\(path) is not a regular file: record the exchange again") }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            guard let count = buffer.withUnsafeMutableBytes({ file.read(into: $0) }) else {
                throw Self.missing("\(path) cannot be read: \(String(cString: strerror(errno))); record the exchange again")
            }
            if count == 0 { return content }
            guard content.count + count <= limit else { throw Self.missing("\(path) has more than \(limit) bytes: make it smaller") }
            content += buffer[..<count]
        }
    }

    func path(of name: String) -> String { path.hasSuffix("/") ? path + name : "\(path)/\(name)" }

    /// The folder's path for an error.
    var shownPath: String { LoggableText.quoted(path, limit: 1_024) }

    /// A file's path for an error.
    func shownPath(of name: String) -> String { LoggableText.quoted(path(of: name), limit: 1_024) }

    static func missing(_ message: String) -> TransportError { TransportError(.recordingMissing, message) }
}
