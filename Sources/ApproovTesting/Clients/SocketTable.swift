import Foundation

/// The system's table of TCP sockets over IPv4 (proc(5), `/proc/net/tcp`).
enum SocketTable {
    /// Returns how many bytes wait in a connection's receive queue.
    ///
    /// - Parameters:
    ///   - port: The port of the side that receives.
    ///   - peer: The port of the other side.
    /// - Returns: The number of bytes that the program has not read; nil when there is no such connection.
    static func unreadBytes(port: Int, peer: Int) -> Int? {
        guard let table = try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8) else { return nil }
        for line in table.split(separator: "\n").dropFirst() {
            // Number, local address, remote address, state, tx_queue:rx_queue, all of them hexadecimal.
            let fields = line.split(separator: " ")
            guard fields.count > 4, number(fields[1]) == port, number(fields[2]) == peer else { continue }
            return number(fields[4])
        }
        return nil
    }

    private static func number(_ field: Substring) -> Int? {
        field.split(separator: ":").last.flatMap { Int($0, radix: 16) }
    }
}
