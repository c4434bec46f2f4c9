/// The transfers whose response may be complete before all content of their requests was sent; each is in the list once.
struct AnsweredUploads {
    private var transfers: [CurlTransfer] = []

    var isEmpty: Bool { transfers.isEmpty }
    var count: Int { transfers.count }

    /// Adds a transfer that is not in the list.
    mutating func insert(_ transfer: CurlTransfer) {
        guard !transfer.isListed else { return }
        transfer.isListed = true
        transfers.append(transfer)
    }

    /// Empties the list, and returns what it held.
    mutating func takeAll() -> [CurlTransfer] {
        for transfer in transfers { transfer.isListed = false }
        defer { transfers = [] }
        return transfers
    }

    /// Whether a response may have come when libcurl has taken all content of a request.
    ///
    /// Another transfer on the connection may have received all of the response. The head of the response is then not read yet, and libcurl
    /// waits for a socket that stays silent.
    ///
    /// - Parameters:
    ///   - isHeadComplete: Whether the head of the response was read.
    ///   - transfersInPool: The transfers under way in the pool, this one included.
    /// - Returns: Whether to look for the response now.
    static func mayBeAnswered(isHeadComplete: Bool, transfersInPool: Int) -> Bool { isHeadComplete || transfersInPool > 1 }

    /// Whether a request with content has waited for its response so long that libcurl may have missed it.
    ///
    /// - Parameters:
    ///   - isPaused: Whether the transfer waits for our side.
    ///   - quiet: The nanoseconds since the last byte moved.
    ///   - interval: The nanoseconds between two checks of the transfer.
    /// - Returns: Whether to look for the response now.
    static func isSilent(isPaused: Bool, quiet: UInt64, interval: UInt64) -> Bool { !isPaused && quiet >= interval }
}
