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
        for row in (try? rows()) ?? [] {
            switch (row.port, row.peer) {
            case (peer, port): isSent = row.queues.hasPrefix("00000000:")
            case (port, peer): isRead = row.queues.hasSuffix(":00000000")
            default: break
            }
        }
        return isSent && isRead
    }

    /// Counts the client sockets on which neither side has ended the connection.
    ///
    /// - Parameter port: The server's port; the server listens on 127.0.0.1.
    /// - Returns: The number of clients, without those that use IPv6 sockets.
    /// - Throws: `TestServerError` when the table cannot be read.
    static func openClients(ofServerAt port: Int) throws -> Int {
        // The table has an address as the machine's own number, although its bytes are in network order.
        let server = String(format: "%08X:%04X", UInt32(0x7F00_0001).bigEndian, UInt32(port))
        // 01 is TCP_ESTABLISHED; a socket that received the peer's FIN is in another state.
        return try rows().count { $0.remote == server && $0.state == "01" }
    }

    private struct Row {
        var local: Substring
        var remote: Substring
        var state: Substring
        var queues: Substring

        var port: Int? { SocketTable.number(local) }
        var peer: Int? { SocketTable.number(remote) }
    }

    private static func rows() throws -> [Row] {
        try read().split(separator: "\n").dropFirst().compactMap { line in
            // Number, local address, remote address, state, tx_queue:rx_queue, all of them hexadecimal.
            let fields = line.split(separator: " ")
            guard fields.count > 4 else { return nil }
            return Row(local: fields[1], remote: fields[2], state: fields[3], queues: fields[4])
        }
    }

    /// Reads the whole table; Foundation's `String(contentsOfFile:)` stops after its first page.
    private static func read() throws -> String {
        guard let file = fopen("/proc/net/tcp", "r") else {
            throw TestServerError("/proc/net/tcp cannot be read: \(String(cString: strerror(errno)))")
        }
        defer { fclose(file) }
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            bytes += buffer[..<count]
            if count == 0 { break }
        }
        guard ferror(file) == 0 else {
            throw TestServerError("/proc/net/tcp cannot be read to its end: \(String(cString: strerror(errno)))")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func number(_ field: Substring) -> Int? {
        field.split(separator: ":").last.flatMap { Int($0, radix: 16) }
    }
}
