import CLibCurl

extension CurlEasyHandle {
    /// The timings of the transfer that has just ended.
    var timings: TransferTimings {
        // libcurl counts each time from the start of the transfer, in microseconds.
        func time(_ info: CURLINFO) -> Duration {
            var microseconds = Int64(0)
            guard clibcurl_get_large(pointer, info, &microseconds) == CURLE_OK else { return .zero }
            return .microseconds(max(0, microseconds))
        }
        func positive(_ duration: Duration) -> Duration? { duration > .zero ? duration : nil }
        var timings = TransferTimings(firstByte: positive(time(CURLINFO_STARTTRANSFER_TIME_T)), total: time(CURLINFO_TOTAL_TIME_T))
        var newConnections = 0
        let isKnown = clibcurl_get_long(pointer, CURLINFO_NUM_CONNECTS, &newConnections) == CURLE_OK
        let (lookup, connected, secured) = (
            time(CURLINFO_NAMELOOKUP_TIME_T), time(CURLINFO_CONNECT_TIME_T), time(CURLINFO_APPCONNECT_TIME_T)
        )
        // Over an open connection, libcurl's times are those at which it found the connection.
        guard isKnown, newConnections > 0 || time(CURLINFO_PRETRANSFER_TIME_T) == .zero else { return timings }
        timings.nameLookup = positive(lookup)
        timings.connect = positive(connected).map { max(.zero, $0 - lookup) }
        timings.tls = positive(secured).map { max(.zero, $0 - connected) }
        return timings
    }
}
