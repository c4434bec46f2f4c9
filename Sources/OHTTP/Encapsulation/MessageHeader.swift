import Crypto
import Foundation

/// Whole messages or messages in chunks: their HPKE labels differ, so that one cannot be taken for the other.
enum Variant {
    case whole
    case chunked

    var requestLabel: String { self == .whole ? "message/bhttp request" : "message/bhttp chunked request" }
    var responseLabel: String { self == .whole ? "message/bhttp response" : "message/bhttp chunked response" }
}

/// The first seven bytes of an encapsulated request (RFC 9458, section 4.1).
struct MessageHeader {
    static let size = 7

    let keyID: UInt8
    let kem: KeyConfiguration.KEM
    let suite: SymmetricSuite

    init(keyID: UInt8, kem: KeyConfiguration.KEM, suite: SymmetricSuite) {
        self.keyID = keyID
        self.kem = kem
        self.suite = suite
    }

    /// Reads a header; nil when it has another length or names an algorithm that this library does not know.
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.size else { return nil }
        var rest = [UInt8](bytes)[...]
        guard let keyID = rest.popFirst(), let kem = rest.popUInt16().flatMap(KeyConfiguration.KEM.init),
            let kdf = rest.popUInt16().flatMap(SymmetricSuite.KDF.init), let aead = rest.popUInt16().flatMap(SymmetricSuite.AEAD.init)
        else { return nil }
        self.init(keyID: keyID, kem: kem, suite: SymmetricSuite(kdf: kdf, aead: aead))
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = [keyID]
        bytes.append(bigEndian: kem.rawValue)
        bytes.append(bigEndian: suite.kdf.rawValue)
        bytes.append(bigEndian: suite.aead.rawValue)
        return bytes
    }

    var ciphersuite: HPKE.Ciphersuite {
        HPKE.Ciphersuite(kem: kem.hpke, kdf: suite.kdf.hpke, aead: suite.aead.hpke)
    }

    /// The `info` of the HPKE context (RFC 9458, section 4.3).
    func info(_ variant: Variant) -> Data {
        var info = Data(variant.requestLabel.utf8)
        info.append(0)
        info.append(contentsOf: bytes)
        return info
    }
}
