/// Builds messages of the kernel, as bytes.
struct NetlinkBytes {
    static let newLink: UInt16 = 16
    static let deletedLink: UInt16 = 17
    static let newAddress: UInt16 = 20
    static let newRoute: UInt16 = 24
    static let error: UInt16 = 2
    static let done: UInt16 = 3
    static let listed: UInt16 = 2
    static let interrupted: UInt16 = 0x10

    static func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

    static func message(_ type: UInt16, flags: UInt16 = listed, sequence: UInt32, _ payload: [UInt8] = []) -> [UInt8] {
        padded(bytes(UInt32(16 + payload.count)) + bytes(type) + bytes(flags) + bytes(sequence) + bytes(UInt32(0)) + payload)
    }

    /// An interface, up with a carrier by default.
    static func link(_ index: Int32, flags: UInt32 = 0x41, sequence: UInt32, isListed: Bool = true) -> [UInt8] {
        message(newLink, flags: isListed ? listed : 0, sequence: sequence, [0, 0, 1, 0] + bytes(index) + bytes(flags) + bytes(UInt32(0)))
    }

    /// A route; a default route of the main table by default.
    static func route(
        _ interface: Int32?, length: UInt8 = 0, to destination: [UInt8]? = nil, family: UInt8 = 2, table: UInt8 = 254, kind: UInt8 = 1,
        flags: UInt32 = 0, hops: [Int32] = [],
        hopFlags: UInt8 = 0, nexthopObject: UInt32? = nil, sequence: UInt32
    ) -> [UInt8] {
        var payload: [UInt8] = [family, length, 0, 0, table, 3, 0, kind] + bytes(flags)
        if let destination { payload += attribute(1, destination) }
        payload += attribute(5, [10, 0, 0, 1])
        if let interface { payload += attribute(4, bytes(interface)) }
        if !hops.isEmpty {
            payload += attribute(9, hops.flatMap { bytes(UInt16(16)) + [hopFlags, 0] + bytes($0) + attribute(5, [10, 0, 0, 1]) })
        }
        if let nexthopObject { payload += attribute(30, bytes(nexthopObject)) }
        return message(newRoute, sequence: sequence, payload)
    }

    static func end(_ sequence: UInt32, number: Int32 = 0) -> [UInt8] { message(done, sequence: sequence, bytes(number)) }

    static func failure(_ sequence: UInt32, number: Int32) -> [UInt8] {
        message(error, flags: 0, sequence: sequence, bytes(-number) + [UInt8](repeating: 0, count: 16))
    }

    private static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        padded(bytes(UInt16(4 + value.count)) + bytes(type) + value)
    }

    private static func padded(_ bytes: [UInt8]) -> [UInt8] { bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4) }
}
