internal import NIOCore

/// The header of the PROXY protocol, version 2, which says whose connection a proxy passes on (HAProxy's proxy-protocol.txt, section 2.2).
enum ProxyHeader: Equatable {
    /// The client's address.
    case client(SocketAddress)
    /// A connection of the proxy itself, or of a client whose address is not an IP address.
    case proxyItself

    /// The bytes are not such a header.
    struct Malformed: Error {}

    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    /// The number of bytes of signature, version and command, family, and length.
    private static let fixed = 16
    /// The most bytes after those: the longest addresses (216 bytes, for UNIX sockets) and some extensions.
    static let maximumLength = 536

    /// Takes a header from the start of the received bytes.
    ///
    /// - Parameter buffer: The received bytes; without the header afterwards.
    /// - Returns: The header; nil while it is incomplete.
    /// - Throws: `Malformed` as soon as one byte is wrong.
    static func take(from buffer: inout ByteBuffer) throws(Malformed) -> ProxyHeader? {
        let bytes = buffer.readableBytesView
        guard zip(bytes, signature).allSatisfy(==) else { throw Malformed() }
        var fields = buffer
        fields.moveReaderIndex(forwardBy: min(signature.count, buffer.readableBytes))
        guard let version = fields.readInteger(as: UInt8.self) else { return nil }
        guard version == 0x20 || version == 0x21 else { throw Malformed() }
        let isLocal = version == 0x20
        guard let family = fields.readInteger(as: UInt8.self) else { return nil }
        // Allows TCP over IPv4 or IPv6, a UNIX stream, and an unspecified family; a TCP server has no use for others. LOCAL ignores the
        // family.
        guard isLocal || [0x00, 0x11, 0x21, 0x31].contains(family) else { throw Malformed() }
        guard let length = fields.readInteger(as: UInt16.self).map(Int.init) else { return nil }
        guard length <= maximumLength else { throw Malformed() }
        let needed = isLocal ? 0 : family == 0x11 ? 12 : family == 0x21 ? 36 : family == 0x31 ? 216 : 0
        guard length >= needed else { throw Malformed() }
        guard fields.readableBytes >= length else { return nil }
        buffer.moveReaderIndex(forwardBy: fixed + length)
        guard !isLocal, family == 0x11 || family == 0x21 else { return .proxyItself }
        // Source address, destination address, source port, destination port.
        let size = family == 0x11 ? 4 : 16
        guard let source = fields.readSlice(length: size), fields.readSlice(length: size) != nil,
            let port = fields.readInteger(as: UInt16.self),
            let address = try? SocketAddress(packedIPAddress: source, port: Int(port))
        else { throw Malformed() }
        return .client(address)
    }
}
