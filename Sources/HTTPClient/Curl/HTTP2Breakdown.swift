/// How HTTP/2 can break down while the TCP connection works.
enum HTTP2Breakdown {
    /// The server reset one stream, or ended it before its response.
    case stream
    /// The server gave up the connection and everything under way on it (GOAWAY).
    case connection
}
