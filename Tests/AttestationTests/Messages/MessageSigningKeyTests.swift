import ApproovBase
import Attestation
import Testing

@Suite struct MessageSigningKeyTests {
    @Test("A generated key is 64 printable bytes, its ID is the first six, and the next key differs")
    func generated() throws {
        let key = try MessageSigningKey.generate()
        #expect(key.key.count == 64)
        let text = String(decoding: key.key, as: UTF8.self)
        #expect(text.wholeMatch(of: /[A-Za-z0-9_-]{64}/) != nil)
        #expect(key.id == String(text.prefix(6)))
        #expect(Base64URL.decode(key.base64url) == key.key)
        #expect(try MessageSigningKey.generate() != key)
    }

    @Test("A decoy is another key with the same ID, length and form", arguments: [32, 64, 1_024])
    func decoy(count: Int) throws {
        let text = try MessageSigningKey(key: [UInt8](repeating: UInt8(ascii: "a"), count: count))
        for key in [text, try MessageSigningKey(id: "k1", key: [UInt8](repeating: 0, count: count))] {
            let decoy = try key.decoy()
            #expect(try decoy.id == key.id && decoy.key.count == count && decoy != key && decoy != key.decoy())
        }
        #expect(try MessageSigningKey(key: text.decoy().key).id == text.id)
        #expect(String(decoding: try text.decoy().key, as: UTF8.self).wholeMatch(of: /[A-Za-z0-9_-]+/) != nil)
    }

    @Test("The original's sample key has the ID that its tokens name")
    func sample() throws {
        let text = "j3AWy6oFGHg38nYTm9_KBhZ" + String(repeating: "x", count: 41)
        #expect(try MessageSigningKey(key: Array(text.utf8)).id == "j3AWy6")
    }

    @Test("A key survives a JSON round trip, with its bytes in padded base64")
    func roundTrip() throws {
        let key = try MessageSigningKey(id: "j3AWy6", key: [UInt8](repeating: 0xff, count: 32))
        #expect(try key.json.string("key") == Base64.encode(key.key))
        #expect(try MessageSigningKey(json: key.json) == key)
    }

    @Test("A key with an ID or a length that is not allowed is rejected")
    func refused() throws {
        let bytes = [UInt8](repeating: 65, count: 32)
        for id in ["", "a b", "a\nb", "é", String(repeating: "a", count: 65)] {
            #expect(code { try MessageSigningKey(id: id, key: bytes) } == .malformedKey, "\(id)")
        }
        for count in [0, 31, 1_025] {
            #expect(code { try MessageSigningKey(id: "a", key: [UInt8](repeating: 65, count: count)) } == .malformedKey, "\(count)")
        }
        #expect(code { try MessageSigningKey(key: [UInt8](repeating: 0, count: 64)) } == .malformedKey)
        let good = try MessageSigningKey(id: "a", key: bytes).json
        for (name, value) in [("id", nil), ("id", .integer(1)), ("key", nil), ("key", "!"), ("key", .array([]))] as [(String, JSONValue?)] {
            #expect(throws: AttestationError.self, "\(name)") { try MessageSigningKey(json: try good.setting(name, to: value)) }
        }
    }

    @Test("Neither the description nor a dump of a key shows its bytes")
    func silent() throws {
        let key = try MessageSigningKey.generate()
        var text = "\(key)"
        dump(key, to: &text)
        dump([key.key.count: key], to: &text)
        #expect(text.contains(key.id))
        #expect(!text.contains(String(decoding: key.key.suffix(20), as: UTF8.self)) && !text.contains(key.base64url))
        #expect(!text.contains("\(key.key[10]), \(key.key[11])") && Mirror(reflecting: key).children.isEmpty)
    }
}
