internal import Foundation
internal import HTTPTypes
internal import OHTTP
internal import Synchronization

/// Writes a response in Binary HTTP as it comes and seals it in chunks.
final class ChunkedResponseWriter: Sendable {
    private struct Ended: Error {}

    fileprivate struct State: ~Copyable {
        var sealer: ChunkedResponseSealer
        var encoder = BinaryHTTPResponseEncoder()
        var count = 0
    }

    private let state: Mutex<State?>
    private let paddingLimit: Int

    /// Makes a writer for one response.
    /// - Parameters:
    ///   - sealer: seals it
    ///   - limit: responses up to this many bytes have their length hidden; of longer ones the padding itself would be long
    init(_ sealer: consuming ChunkedResponseSealer, paddingUpTo limit: Int) {
        state = Mutex(State(sealer: sealer))
        paddingLimit = limit
    }

    /// Status and header fields.
    func head(_ head: HTTPResponse) throws -> [UInt8] {
        try state.withLock { state in
            guard var writing = state.take() else { throw Ended() }
            let sealed = try writing.sealer.seal(writing.encoder.head(head))
            state = consume writing
            return sealed
        }
    }

    /// A part of the content.
    func body(_ part: [UInt8]) throws -> [UInt8] {
        try state.withLock { state in
            guard var writing = state.take() else { throw Ended() }
            writing.count += part.count
            let sealed = try writing.sealer.seal(writing.encoder.body(Data(part)))
            state = consume writing
            return sealed
        }
    }

    /// The end, without which the client takes nothing for complete.
    func end() throws -> [UInt8] {
        try state.withLock { state in
            guard let writing = state.take() else { throw Ended() }
            let padding: BinaryHTTPPadding = writing.count <= paddingLimit ? .padme : .none
            return try writing.finish(padding)
        }
    }

    /// A response that is there already.
    func whole(_ response: BinaryHTTPResponse) throws -> [UInt8] {
        try head(response.head) + body([UInt8](response.body)) + end()
    }
}

extension ChunkedResponseWriter.State {
    fileprivate consuming func finish(_ padding: BinaryHTTPPadding) throws -> [UInt8] {
        let last = try encoder.end(padding: padding)
        return try sealer.finish(last)
    }
}
