import Glibc
import NIOCore
import NIOPosix
import NIOSSL

/// One connection to a ``RawServer``, which its script controls.
public final class RawConnection: Sendable {
    private let channel: any Channel
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let inbox: RawInbox

    init(channel: any Channel, outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>, inbox: RawInbox) {
        self.channel = channel
        self.outbound = outbound
        self.inbox = inbox
    }

    /// Waits for the next bytes.
    /// - Returns: The bytes as they came, or `nil` when the client closed its side.
    public func receive() async -> [UInt8]? { await inbox.take() }

    /// Waits for the head of an HTTP/1.1 request.
    /// - Returns: All bytes received up to the end of the piece that contains the empty line.
    /// - Throws: `TestServerError` when the client closes its side earlier.
    public func receiveHead() async throws -> String {
        var head = ""
        while !head.contains("\r\n\r\n") {
            guard let bytes = await receive() else { throw TestServerError("the client closed before its request was complete") }
            // Swift treats CR LF as one character; keep each byte as a Latin-1 scalar.
            head.unicodeScalars.append(contentsOf: bytes.map { Unicode.Scalar($0) })
        }
        return head
    }

    /// Sends bytes as they are.
    /// - Parameter bytes: The bytes to send.
    /// - Throws: When the client is gone.
    public func send(_ bytes: [UInt8]) async throws { try await outbound.write(ByteBuffer(bytes: bytes)) }

    /// Sends a text as UTF-8.
    /// - Parameter text: The text to send.
    /// - Throws: When the client is gone.
    public func send(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text)) }

    /// Sends bytes in small pieces with a pause after each.
    /// - Parameters:
    ///   - bytes: The bytes to send.
    ///   - piece: The number of bytes in each piece.
    ///   - pause: The time to wait after each piece.
    /// - Throws: When the client is gone.
    public func drip(_ bytes: [UInt8], piece: Int = 1, pause: Duration) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            try await send(Array(rest.prefix(piece)))
            rest = rest.dropFirst(piece)
            try await Task.sleep(for: pause)
        }
    }

    /// Waits until the client closes its side, and sends nothing.
    public func waitForClose() async {
        while await receive() != nil {}
    }

    /// Resets the TCP connection; unsent bytes are lost.
    /// - Throws: When the connection is already gone.
    public func reset() async throws {
        if let options = channel as? any SocketOptionProvider {
            try await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await cut()
    }

    /// Closes the TCP connection with a FIN after the sent bytes, without TLS's close_notify.
    /// - Throws: When the connection is already gone.
    public func cut() async throws {
        try await channel.eventLoop.submit { [channel] in
            // Close below the TLS handler, which would send close_notify first.
            if let tls = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
                tls.close(promise: nil)
            } else {
                channel.close(promise: nil)
            }
        }.get()
    }
}
