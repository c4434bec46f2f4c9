import CNetlink

/// One message of the kernel about links and routes (rtnetlink(7)), read from bytes that need not be well formed.
struct NetlinkMessage: Equatable {
    enum Content: Equatable {
        /// An interface, with the system's flags.
        case link(index: Int32, flags: UInt32)
        /// A route, with the interfaces that it leads to.
        case route(Route)
        /// Another change: of an address, or the removal of an object.
        case change
        /// The end of a list.
        case done
        /// The kernel refused a request, with the number of the error.
        case failure(Int32)
        /// Anything else.
        case other
    }

    struct Route: Equatable {
        /// Whether it matches every destination, is usable, and is in a table other than that of the machine's own addresses.
        ///
        /// A route of at most 7 bits counts as such a one if it leads to public addresses: VPNs use 0.0.0.0/1 and 128.0.0.0/1, or more
        /// parts, so that the machine's own default route can stay.
        let isDefault: Bool
        let interfaces: [Int32]
        /// Whether it leads to a nexthop object, whose interfaces the kernel names only while net.ipv4.nexthop_compat_mode is 1.
        var hasOnlyNexthopObject = false
    }

    let sequence: UInt32
    /// Whether the message belongs to a list that was asked for (NLM_F_MULTI).
    ///
    /// The sequence number alone does not tell, because the kernel gives a change notice the number of the request that caused the change.
    let isListed: Bool
    /// Whether the list that it belongs to changed while the kernel sent it.
    let isInterrupted: Bool
    let content: Content

    /// Reads the messages of a datagram.
    ///
    /// - Returns: The messages; nil when one of them is truncated or malformed, so that nothing can be relied on.
    static func all(in datagram: some RandomAccessCollection<UInt8>) -> [NetlinkMessage]? {
        var reader = ByteReader(datagram)
        var messages: [NetlinkMessage] = []
        while !reader.isAtEnd {
            guard let length = reader.integer(UInt32.self), let type = reader.integer(UInt16.self),
                let flags = reader.integer(UInt16.self), let sequence = reader.integer(UInt32.self), reader.skip(4), length >= 16,
                let payload = reader.bytes(Int(length) - 16)
            else { return nil }
            // The last message may lack its padding.
            reader.align()
            guard let content = Content(type: type, payload) else { return nil }
            messages.append(
                NetlinkMessage(
                    sequence: sequence, isListed: flags & UInt16(NLM_F_MULTI) != 0, isInterrupted: flags & UInt16(NLM_F_DUMP_INTR) != 0,
                    content: content))
        }
        return messages
    }
}

extension NetlinkMessage.Content {
    fileprivate init?(type: UInt16, _ payload: ArraySlice<UInt8>) {
        var reader = ByteReader(payload)
        switch Int(type) {
        case Int(NLMSG_DONE):
            // A list may end with the number of an error.
            let number = reader.integer(Int32.self) ?? 0
            self = number < 0 ? .failure(0 &- number) : .done
        case Int(NLMSG_ERROR):
            guard let number = reader.integer(Int32.self) else { return nil }
            self = number < 0 ? .failure(0 &- number) : .other
        case Int(RTM_NEWLINK):
            guard reader.skip(4), let index = reader.integer(Int32.self), let flags = reader.integer(UInt32.self) else { return nil }
            self = .link(index: index, flags: flags)
        case Int(RTM_NEWROUTE):
            guard let route = NetlinkMessage.Route(&reader) else { return nil }
            self = .route(route)
        case Int(RTM_DELLINK), Int(RTM_NEWADDR), Int(RTM_DELADDR), Int(RTM_DELROUTE): self = .change
        default: self = .other
        }
    }
}

extension NetlinkMessage.Route {
    // Constants of rtnetlink(7) whose macros Swift cannot read.
    private static let unicast = UInt8(1)  // RTN_UNICAST
    private static let localTable = UInt8(255)  // RT_TABLE_LOCAL
    private static let unusable = UInt32(RTNH_F_DEAD | RTNH_F_LINKDOWN)
    private static let typeMask: UInt16 = 0x3FFF  // NLA_TYPE_MASK
    private static let destination: UInt16 = 1  // RTA_DST
    private static let outgoingInterface: UInt16 = 4  // RTA_OIF
    private static let multipath: UInt16 = 9  // RTA_MULTIPATH
    private static let nexthopObject: UInt16 = 30  // RTA_NH_ID

    fileprivate init?(_ reader: inout ByteReader) {
        guard let family = reader.integer(UInt8.self), let length = reader.integer(UInt8.self), reader.skip(2),
            let table = reader.integer(UInt8.self),
            reader.skip(2), let kind = reader.integer(UInt8.self), let flags = reader.integer(UInt32.self)
        else { return nil }
        let isUsable = kind == Self.unicast && table != Self.localTable && flags & Self.unusable == 0
        /// The first byte of the destination; nil for a default route.
        var destination: UInt8?
        var interfaces: [Int32] = []
        var (namesInterfaces, hasObject) = (false, false)
        while !reader.isAtEnd {
            guard let size = reader.integer(UInt16.self), let type = reader.integer(UInt16.self), size >= 4,
                let value = reader.bytes(Int(size) - 4)
            else { return nil }
            reader.align()
            var attribute = ByteReader(value)
            if [Self.outgoingInterface, Self.multipath].contains(type & Self.typeMask) { namesInterfaces = true }
            switch type & Self.typeMask {
            case Self.outgoingInterface:
                guard let index = attribute.integer(Int32.self) else { return nil }
                interfaces.append(index)
            case Self.multipath:
                while !attribute.isAtEnd {
                    guard let size = attribute.integer(UInt16.self), let flags = attribute.integer(UInt8.self), attribute.skip(1),
                        let index = attribute.integer(Int32.self), size >= 8, attribute.skip(Int(size) - 8)
                    else { return nil }
                    attribute.align()
                    if UInt32(flags) & Self.unusable == 0 { interfaces.append(index) }
                }
            case Self.nexthopObject: hasObject = true
            case Self.destination: destination = attribute.integer(UInt8.self)
            default: break
            }
        }
        self.interfaces = interfaces
        isDefault = isUsable && Self.leadsToPublicAddresses(family, length, destination)
        // The kernel may name the object and its interfaces, which then count, even if none can be used.
        hasOnlyNexthopObject = hasObject && !namesInterfaces
    }

    /// Whether a destination is everything, or has the address of a root name server in it (198.41.0.4 and 2001:503:ba3e::2:30).
    ///
    /// A wide one may also be multicast (224.0.0.0/4) or private (fc00::/7).
    private static func leadsToPublicAddresses(_ family: UInt8, _ length: UInt8, _ destination: UInt8?) -> Bool {
        guard length > 0 else { return true }
        // From 8 bits on, a route leads to one network, such as 10.0.0.0/8.
        guard length < 8, let destination else { return false }
        let address: UInt8 = family == UInt8(AF_INET) ? 198 : 0x20
        return (address ^ destination) >> (8 - length) == 0
    }
}

/// Reads integers in the machine's byte order, and never beyond the end.
private struct ByteReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int
    private let start: Int

    init(_ bytes: some Sequence<UInt8>) {
        self.bytes = ArraySlice(bytes)
        position = self.bytes.startIndex
        start = position
    }

    var isAtEnd: Bool { position == bytes.endIndex }

    mutating func integer<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        guard let part = bytes(MemoryLayout<Number>.size) else { return nil }
        return part.withUnsafeBytes { $0.loadUnaligned(as: Number.self) }
    }

    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= bytes.endIndex - position else { return nil }
        defer { position += count }
        return bytes[position..<position + count]
    }

    mutating func skip(_ count: Int) -> Bool { bytes(count) != nil }

    /// Goes on at the next multiple of four, or the end.
    mutating func align() { position = min(start + (position - start + 3) & ~3, bytes.endIndex) }
}
