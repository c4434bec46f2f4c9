import ApproovTesting
import Foundation
import OHTTP
import Testing

@Suite("Key configurations")
struct KeyConfigurationTests {
    private static let malformed = OHTTPError(.malformedKeyConfiguration, "")

    private func configuration(_ id: UInt8 = 1, kem: KeyConfiguration.KEM = .x25519) throws -> KeyConfiguration {
        try GatewayKey(id: id, kem: kem).configuration
    }

    /// A list entry: its length and its bytes.
    private func entry(_ bytes: [UInt8]) -> [UInt8] { [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)] + bytes }

    @Test("A key configuration survives a round trip, alone and in a list, with every KEM")
    func roundTrip() throws {
        let all = try KeyConfiguration.KEM.allCases.enumerated().map { try configuration(UInt8($0.offset), kem: $0.element) }
        for one in all { #expect(try KeyConfiguration(decoding: one.encoded()) == one) }
        let list = KeyConfigurationList(all)
        #expect(try KeyConfigurationList(decoding: list.encoded()) == list)
        #expect(try KeyConfigurationList(decoding: Data(list.encoded())).configurations == all)
    }

    @Test("The gateway's first configuration is preferred, or the first with an accepted KEM")
    func preferred() throws {
        let list = KeyConfigurationList([try configuration(1), try configuration(2, kem: .xWing), try configuration(3)])
        #expect(try list.preferred().id == 1)
        #expect(try list.preferred(among: [.xWing]).id == 2)
        #expect(code(as: OHTTPError.self) { try list.preferred(among: [.p256]) } == .unsupportedKeyConfiguration)
        #expect(code(as: OHTTPError.self) { try list.preferred(among: []) } == .unsupportedKeyConfiguration)
    }

    @Test("An entry with an unknown KEM is skipped, whatever its position and content")
    func unknownKEM() throws {
        let known = try configuration(5)
        let unknown: [UInt8] = [1, 0x00, 0x30] + pattern(1200)
        for bytes in [
            entry(unknown) + entry(known.encoded()), entry(known.encoded()) + entry(unknown), entry([1, 0, 0x11]) + entry(known.encoded()),
        ] {
            #expect(try KeyConfigurationList(decoding: bytes).configurations == [known])
        }
        let none = try KeyConfigurationList(decoding: entry(unknown))
        #expect(code(as: OHTTPError.self) { try none.preferred() } == .unsupportedKeyConfiguration)
        #expect(code(as: OHTTPError.self) { try KeyConfiguration(decoding: unknown) } == .unsupportedKeyConfiguration)
    }

    @Test("Unknown suites are skipped, and a configuration without a known one is not used")
    func unknownSuites() throws {
        let known = try configuration()
        let head = Array(known.encoded().prefix(3 + 32))
        let mixed = head + [0, 12, 0, 9, 0, 1, 0, 1, 0, 2, 0, 1, 0xff, 0xff]
        #expect(try KeyConfiguration(decoding: mixed).suites == [.aes256GCM])
        let none = head + [0, 4, 0, 1, 0xff, 0xff]
        #expect(try KeyConfigurationList(decoding: entry(none)).configurations.isEmpty)
        #expect(code(as: OHTTPError.self) { try KeyConfiguration(decoding: none) } == .unsupportedKeyConfiguration)
    }

    @Test("A list with a malformed entry is refused as a whole, even if its other entry is valid")
    func malformedEntries() throws {
        let good = try configuration().encoded()
        let head = Array(good.prefix(3 + 32))
        let bad: [[UInt8]] = [
            [], [1], [1, 0], [1, 0, 0x20], head, head + [0], head + [0, 0], head + [0, 3, 0, 1, 0], head + [0, 4, 0, 1, 0],
            head + [0, 4, 0, 1, 0, 1, 0], head + [0, 8, 0, 1, 0, 1], head + [0xff, 0xff], good + [0], Array(good.dropLast()),
        ]
        for bytes in bad {
            #expect(throws: Self.malformed, "\(bytes.count)") { try KeyConfigurationList(decoding: entry(good) + entry(bytes)) }
            #expect(throws: Self.malformed, "\(bytes.count)") { try KeyConfigurationList(decoding: entry(bytes) + entry(good)) }
            #expect(throws: Self.malformed, "\(bytes.count)") { try KeyConfiguration(decoding: bytes) }
        }
    }

    @Test("A cut-off list is refused, unless exactly one whole entry is left")
    func truncated() throws {
        let one = entry(try configuration(1).encoded())
        let two = one + entry(try configuration(2).encoded())
        for count in two.indices {
            let cut = Array(two.prefix(count))
            if count == one.count {
                #expect(try KeyConfigurationList(decoding: cut).configurations.count == 1)
            } else {
                #expect(throws: Self.malformed) { try KeyConfigurationList(decoding: cut) }
            }
        }
    }

    @Test("A single configuration is not decoded as a list, nor a list as a single configuration")
    func forms() throws {
        let one = try configuration()
        #expect(throws: OHTTPError.self) { try KeyConfigurationList(decoding: one.encoded()) }
        #expect(throws: OHTTPError.self) { try KeyConfiguration(decoding: KeyConfigurationList([one]).encoded()) }
    }

    @Test(
        "A list with any byte changed is decoded or refused with a typed error, and never crashes",
        arguments: [0x01, 0x80, 0xff] as [UInt8])
    func flipped(mask: UInt8) throws {
        let list = KeyConfigurationList([try configuration(1), try configuration(2, kem: .p256)]).encoded()
        for index in list.indices {
            var bytes = list
            bytes[index] ^= mask
            do {
                _ = try KeyConfigurationList(decoding: bytes)
            } catch {
                #expect(error == Self.malformed)
            }
        }
    }

    @Test("A list with a public key that cannot be sealed to is refused")
    func uselessKeys() throws {
        let good = entry(try configuration().encoded())
        let suites: [UInt8] = [0, 4, 0, 1, 0, 1]
        let zero = [1, 0x00, 0x20] + [UInt8](repeating: 0, count: 32) + suites
        let offCurve = [1, 0x00, 0x10, 4] + [UInt8](repeating: 7, count: 64) + suites
        let compressed = [1, 0x00, 0x10, 2] + [UInt8](repeating: 7, count: 64) + suites
        let notReduced = [1, 0x64, 0x7a] + [UInt8](repeating: 0xff, count: 1216) + suites
        for bytes in [zero, offCurve, compressed, notReduced] {
            #expect(throws: Self.malformed) { try KeyConfigurationList(decoding: good + entry(bytes)) }
        }
    }

    @Test("A configuration without suites, with a wrong key size or with too many bytes is refused")
    func limits() throws {
        let key = try configuration().publicKey
        #expect(throws: Self.malformed) { try KeyConfiguration(id: 1, kem: .x25519, publicKey: key, suites: []) }
        #expect(throws: Self.malformed) { try KeyConfiguration(id: 1, kem: .p256, publicKey: key, suites: [.aes128GCM]) }
        #expect(throws: Self.malformed) { try KeyConfiguration(id: 1, kem: .x25519, publicKey: [], suites: [.aes128GCM]) }
        let large = [UInt8](repeating: 0, count: KeyConfigurationList.maximumSize + 1)
        #expect(code(as: OHTTPError.self) { try KeyConfigurationList(decoding: large) } == .limitExceeded)
        #expect(code(as: OHTTPError.self) { try KeyConfiguration(decoding: large) } == .limitExceeded)
    }
}
