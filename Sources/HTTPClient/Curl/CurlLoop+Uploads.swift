import CLibCurl

// Requests whose response comes before all of their content was sent.
extension CurlLoop {
    func uploadIsAnswered(of transfer: CurlTransfer) {
        if transfer.mayBeOverHTTP2 { answeredUploads.insert(transfer) }
    }

    /// Notes that libcurl has taken all content of a request.
    func contentIsTaken(of transfer: CurlTransfer) {
        let count = pools[transfer.poolNumber]?.activeTransfers ?? 0
        if AnsweredUploads.mayBeAnswered(isHeadComplete: transfer.isHeadComplete, transfersInPool: count) {
            uploadIsAnswered(of: transfer)
        }
    }

    func uploadIsRefused(of transfer: CurlTransfer) {
        refusedUploads.append(transfer)
    }

    /// Lets libcurl notice the responses that were complete before the content of their requests was.
    ///
    /// libcurl 7.88 sees the end of a response when it reads. When the server ends the stream first, the stream closes when the last of the
    /// content is sent; libcurl then waits for the socket, which stays silent (on_stream_close in lib/http2.c).
    func checkAnsweredUploads() {
        // Reading may add to the list.
        for transfer in answeredUploads.takeAll() where transfer.activeIndex >= 0 {
            guard let pool = pools[transfer.poolNumber] else { continue }
            let isPaused = transfer.holdsContent || transfer.suspendedAt != nil
            if transfer.isRefused {
                // The server does not want the rest of the content. It may not even take it, and libcurl would wait for that. What libcurl
                // holds during a pause counts as received, and would be lost.
                if transfer.isComplete, !isPaused { end(transfer, CURLE_OK) } else { answeredUploads.insert(transfer) }
                continue
            }
            // A paused response must not be read; libcurl reads by itself when the pause ends. While the server takes no content, reading
            // again and again would keep the thread awake.
            if isPaused || transfer.ends.map(pool.isResting) == true || pool.read(for: transfer) { answeredUploads.insert(transfer) }
        }
    }

    /// Ends uploads that the server no longer wants, so that a paused upload does not hold its transfer forever.
    func endRefusedUploads() {
        let refused = refusedUploads
        refusedUploads.removeAll(keepingCapacity: true)
        for transfer in refused where transfer.activeIndex >= 0 {
            // Usually libcurl has given up the content, and only its pause is left. Where the server closes the connection, libcurl has
            // not, and asks for content again; only once it waits for nothing else can it tell whether the response is complete.
            if !transfer.isUploadUnpaused || (!transfer.exchange.isPaused && !isAnythingAwaited(by: transfer)) {
                transfer.isUploadUnpaused = true
                unpause(transfer)
            }
            refusedUploads.append(transfer)
        }
    }

    /// Whether libcurl waits for activity on the connection of a transfer.
    private func isAnythingAwaited(by transfer: CurlTransfer) -> Bool {
        guard let ends = transfer.ends else { return false }
        return pools[transfer.poolNumber]?.isWatching(ends) ?? false
    }
}

extension CurlTransfer {
    /// Whether a request with content has waited for its response for a while over HTTP/2, where libcurl may have missed it.
    func isSilentUpload(now: UInt64) -> Bool {
        upload.hasContent && AnsweredUploads.isSilent(isPaused: isPaused, quiet: now - lastActivity, interval: sweepInterval)
            && mayBeOverHTTP2
    }
}
