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
        for line in read().split(separator: "\n").dropFirst() {
            // Number, local address, remote address, state, tx_queue:rx_queue, all of them hexadecimal.
            let fields = line.split(separator: " ")
            guard fields.count > 4 else { continue }
            switch (number(fields[1]), number(fields[2])) {
            case (peer, port): isSent = fields[4].hasPrefix("00000000:")
            case (port, peer): isRead = fields[4].hasSuffix(":00000000")
            default: break
            }
        }
        return isSent && isRead
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
