import Foundation
import OHTTP
import Testing

@Suite("Published key configurations")
struct KeyConfigurationListTests {
    private static let malformed = OHTTPError(.malformedKeyConfiguration, "")
    /// An entry with a KEM that this library does not know.
    private static let unknown: [UInt8] = [0, 11, 1, 0, 0x30, 9, 9, 0, 4, 0, 1, 0, 1]

    private func configuration(_ id: UInt8 = 1, kem: KeyConfiguration.KEM = .x25519) throws -> KeyConfiguration {
        try GatewayKey(id: id, kem: kem).configuration
    }

    @Test("A list and a single configuration are both decoded", arguments: KeyConfiguration.KEM.allCases)
    func forms(kem: KeyConfiguration.KEM) throws {
        let (one, two) = (try configuration(0, kem: kem), try configuration(1, kem: kem))
        #expect(try KeyConfigurationList(published: KeyConfigurationList([one, two]).encoded()).configurations == [one, two])
        #expect(try KeyConfigurationList(published: one.encoded()).configurations == [one])
        #expect(try KeyConfigurationList(published: Data(two.encoded())).configurations == [two])
    }

    @Test("The check keeps a list with unknown keys unchanged, and turns a single configuration into a list")
    func checked() throws {
        let one = try configuration()
        let list = KeyConfigurationList([one]).encoded()
        #expect(try KeyConfigurationList.checked(published: Self.unknown + list) == Self.unknown + list)
        #expect(try KeyConfigurationList.checked(published: one.encoded()) == list)
    }

    @Test("Bytes that are neither a list nor a configuration, or that no client can use, are refused")
    func refused() throws {
        let list = KeyConfigurationList([try configuration()]).encoded()
        for bytes in [[], [1, 2, 3], Array(list.dropLast()), list + [0], list + [0, 3, 1, 0, 0x20], Array(Self.unknown.dropFirst(2))] {
            #expect(throws: Self.malformed) { try KeyConfigurationList(published: bytes) }
            #expect(throws: Self.malformed) { try KeyConfigurationList.checked(published: bytes) }
        }
        #expect(throws: OHTTPError(.unsupportedKeyConfiguration, "")) { try KeyConfigurationList.checked(published: Self.unknown) }
        let large = [UInt8](repeating: 0, count: KeyConfigurationList.maximumSize + 1)
        #expect(throws: OHTTPError(.limitExceeded, "")) { try KeyConfigurationList.checked(published: large) }
    }

    /// RFC 9458, section 3.2 defines the list, so bytes that can be decoded both ways are a list.
    @Test("Bytes that are both a list and a single configuration are decoded as the list")
    func ambiguous() throws {
        let listed = try configuration(9)
        let entry = KeyConfigurationList([listed]).encoded()
        // As a list: 256 bytes with an unknown KEM, then a known entry. As a single configuration: an X25519 key and many suites.
        let suites = 258 - 37 + entry.count
        var bytes: [UInt8] = [1, 0, 0x20, 0xFF, 0xFF] + [UInt8](repeating: 7, count: 30)
        bytes += [UInt8(suites >> 8), UInt8(suites & 0xFF), 0, 1, 0, 1]
        bytes += [UInt8](repeating: 0, count: 258 - bytes.count) + entry
        #expect(try KeyConfiguration(decoding: bytes).id == 1)
        #expect(try KeyConfigurationList(published: bytes).configurations == [listed])
    }
}
