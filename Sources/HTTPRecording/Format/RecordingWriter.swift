import ApproovBase
import Foundation
import HTTPClient
import Synchronization

/// Writes the files of a recording, within its limits.
final class RecordingWriter: Sendable {
    private struct State {
        var nextNumber: Int
        /// The exchanges in the folder and those under way.
        var exchanges: Int
        var usedBytes = 0
    }

    private let folder: String
    private let limits: RecordingLimits
    private let state: Mutex<State>

    /// Makes the folder, with mode 0700, unless it exists; a recording in it is continued.
    ///
    /// - Throws: `TransportError` with code `recordingFailed` when the folder cannot be made, or other users can write to it.
    init(_ url: URL, _ limits: RecordingLimits) throws(TransportError) {
        let path = url.path(percentEncoded: false)
        folder = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        self.limits = limits
        do throws(FileError) {
            try PrivateFile.makeFolder(path: folder)
        } catch {
            throw Self.failure("the recording cannot begin", error)
        }
        if let flaw = PrivateFile.flaw(ofFolder: folder) { throw TransportError(.recordingFailed, flaw, isSafeToRepeat: true) }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let lastNumber = names.compactMap(RecordingName.number).max() ?? 0
        // Several heads may have one number, and a replay counts the heads.
        state = Mutex(State(nextNumber: lastNumber + 1, exchanges: names.count { $0.hasSuffix(RecordingName.headSuffix) }))
    }

    /// Takes the next number, in the order in which requests are sent.
    ///
    /// - Throws: `TransportError` with code `recordingFailed` when the folder is full.
    func number() throws(TransportError) -> Int {
        let limit = min(limits.maximumExchanges, RecordingFolder.maximumExchanges)
        let (number, isFull): (Int, Bool) = state.withLock { state in
            let isFull = state.exchanges >= limit
            // A number has four digits.
            guard !isFull, state.nextNumber <= RecordingFolder.maximumExchanges else { return (0, isFull) }
            state.exchanges += 1
            defer { state.nextNumber += 1 }
            return (state.nextNumber, false)
        }
        guard number > 0 else {
            let reason =
                isFull
                ? "takes \(limit) exchanges and is full" : "has a file with the last number, \(RecordingFolder.maximumExchanges)"
            let remedy = isFull && limit < RecordingFolder.maximumExchanges ? "raise maximumExchanges, or record" : "record"
            throw TransportError(
                .recordingFailed,
                "\(LoggableText.quoted(folder, limit: 1_024)) \(reason), so nothing was sent: \(remedy) into another folder",
                isSafeToRepeat: true)
        }
        return number
    }

    /// Takes room for bytes of a body.
    ///
    /// - Parameters:
    ///   - count: How many bytes arrived.
    ///   - held: How many of the body are held already.
    /// - Throws: `TransportError` with code `recordingFailed` when there is no room.
    func reserve(_ count: Int, after held: Int) throws(TransportError) {
        // No replay reads a longer body.
        let limit = min(limits.maximumBodyBytes, RecordingFolder.maximumBodyBytes)
        guard count <= limit - held else {
            let remedy = limit < RecordingFolder.maximumBodyBytes ? "raise maximumBodyBytes, or send" : "send"
            throw Self.failure(
                "the response was not recorded: its body has more than \(limit) bytes; \(remedy) the request without recording")
        }
        try take(count)
    }

    /// Takes room for bytes of the recording.
    private func take(_ count: Int) throws(TransportError) {
        let hasRoom = state.withLock { state in
            guard count <= limits.maximumTotalBytes - state.usedBytes else { return false }
            state.usedBytes += count
            return true
        }
        guard hasRoom else {
            throw Self.failure(
                "the response was not recorded: the recording has \(limits.maximumTotalBytes) bytes; raise maximumTotalBytes")
        }
    }

    /// Gives back the place of an exchange that is not recorded, and the room of its body's bytes.
    ///
    /// - Parameters:
    ///   - number: The exchange's number, which is used again if it is the last one; nil if a file may have it.
    ///   - count: The bytes.
    func giveUp(_ number: Int?, bytes count: Int) {
        state.withLock { state in
            state.exchanges -= 1
            if let number, state.nextNumber == number + 1 { state.nextNumber = number }
            state.usedBytes -= count
        }
    }

    private func release(_ count: Int) { state.withLock { $0.usedBytes -= count } }

    /// Writes one exchange; its body first, so that no head names a body that is not there.
    ///
    /// - Parameters:
    ///   - exchange: The head.
    ///   - body: The redacted body.
    ///   - number: The exchange's number.
    ///   - reserved: How many bytes have room already, because they arrived. Afterwards the exchange has the room of its files instead,
    ///     unless this throws.
    /// - Throws: `TransportError` with code `recordingFailed`.
    func write(_ exchange: RecordedExchange, body: [UInt8], number: Int, reserved: Int = 0) throws(TransportError) {
        var exchange = exchange
        let stem = RecordingName.stem(number: number, method: exchange.method, url: exchange.url)
        if !body.isEmpty { exchange.bodyName = stem + RecordingName.bodySuffix }
        // Everything that may fail comes before the first file.
        let head = try readableHead(of: exchange)
        guard body.count <= RecordingFolder.maximumBodyBytes else {
            throw Self.unreadable("its redacted body has more than \(RecordingFolder.maximumBodyBytes) bytes")
        }
        // Redaction makes bodies longer or shorter.
        let further = head.count + body.count - reserved
        try take(further)
        var isBodyCreated = false
        do {
            if let name = exchange.bodyName {
                try create(name, body)
                isBodyCreated = true
            }
            try create(stem + RecordingName.headSuffix, head)
        } catch {
            release(further)
            // Without its head, a body belongs to nothing.
            if isBodyCreated, let name = exchange.bodyName { try? FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
            throw Self.failure("the exchange could not be recorded", error)
        }
    }

    /// The file's text, which a replay can read: it refuses a whole folder because of one file, and redaction may make a head longer.
    private func readableHead(of exchange: RecordedExchange) throws(TransportError) -> [UInt8] {
        let head: [UInt8]
        do {
            head = try exchange.serialized()
        } catch {
            throw Self.failure("the exchange could not be recorded", error)
        }
        guard head.count <= RecordedExchange.maximumBytes else {
            throw Self.unreadable("its URL and fields have more than \(RecordedExchange.maximumBytes) bytes")
        }
        do throws(RecordedExchange.Damage) {
            _ = try RecordedExchange(parsing: head)
        } catch {
            throw Self.unreadable("no replay could read its redacted head: \(error.reason)")
        }
        return head
    }

    private func create(_ name: String, _ content: [UInt8]) throws(FileError) {
        let path = "\(folder)/\(name)"
        guard try PrivateFile(path: path).create(content, removingUnsynchronised: true) else {
            throw FileError(
                .fileWriteFailed,
                "\(LoggableText.quoted(path, limit: 1_024)) exists: another RecordingTransport, of this or another process, records into"
                    + " this folder; give each a separate folder")
        }
    }

    private static func unreadable(_ reason: String) -> TransportError {
        failure("the exchange was not recorded: \(reason); send the request without recording")
    }

    private static func failure(_ message: String, _ cause: (any Error)? = nil) -> TransportError {
        TransportError(.recordingFailed, message, cause: cause)
    }
}
