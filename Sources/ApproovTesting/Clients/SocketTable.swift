import Foundation

/// The system's table of TCP sockets over IPv4 (proc(5), `/proc/net/tcp`).
enum SocketTable {
    /// Whether a program has read all that its peer sent on a connection.
    ///
    /// - Parameters:
    ///   - port: The port of the side that reads.
    ///   - peer: The port of the side that sends.
    /// - Returns: False, too, when there is no such connection.
    static func isRead(port: Int, peer: Int) -> Bool {
        var (isSent, isRead) = (false, false)
        for row in rows() {
            switch (row.port, row.peer) {
            case (peer, port): isSent = row.queues.hasPrefix("00000000:")
            case (port, peer): isRead = row.queues.hasSuffix(":00000000")
            default: break
            }
        }
        return isSent && isRead
    }

    /// Counts the open client sockets of a server.
    ///
    /// - Parameter port: The server's port.
    /// - Returns: The number of clients to which no end of the connection has come.
    static func openClients(ofServerAt port: Int) -> Int {
        // 01 is TCP_ESTABLISHED; a socket that received the peer's FIN is in another state.
        rows().count { $0.peer == port && $0.state == "01" }
    }

    private struct Row {
        var port: Int?
        var peer: Int?
        var state: Substring
        var queues: Substring
    }

    private static func rows() -> [Row] {
        read().split(separator: "\n").dropFirst().compactMap { line in
            // Number, local address, remote address, state, tx_queue:rx_queue, all of them hexadecimal.
            let fields = line.split(separator: " ")
            guard fields.count > 4 else { return nil }
            return Row(port: number(fields[1]), peer: number(fields[2]), state: fields[3], queues: fields[4])
        }
    }

    /// Reads the whole table; Foundation's `String(contentsOfFile:)` stops after its first page.
    private static func read() -> String {
        guard let file = fopen("/proc/net/tcp", "r") else { return "" }
        defer { fclose(file) }
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }

    private static func number(_ field: Substring) -> Int? {
        field.split(separator: ":").last.flatMap { Int($0, radix: 16) }
    }
}
