import CertificatePinning
import Foundation
import Testing

@Suite("Pin")
struct PinTests {
    private let bytes = [UInt8](0..<32)
    private var base64: String { Data(bytes).base64EncodedString() }

    @Test("A pin is parsed with and without its prefix")
    func bothForms() throws {
        #expect(try Pin("sha256/" + base64) == Pin(base64))
        #expect(try Pin(base64).bytes == bytes)
        #expect(try Pin(base64) == Pin(spkiSHA256: bytes))
        #expect(try Pin(base64).description == "sha256/" + base64)
    }

    @Test("A pin is the SHA-256 of the bytes of the key")
    func hashesSPKI() {
        // SHA-256 of no bytes (FIPS 180-4).
        #expect(Pin(spki: []).description == "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
    }

    @Test(
        "Text that is not a SHA-256 in canonical base64 is rejected",
        arguments: [
            // the hash of no bytes, which a shell pipeline prints if its first command fails
            "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "", "sha256/", "sha1/AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "SHA256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            "sha256/sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            "sha256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            // 31 and 33 bytes
            "sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==", "sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g",
            // no padding, white space, trailing bits that are not zero, the URL alphabet, another script
            "sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", " sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            "sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", "sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=",
            "sha256/__ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "sha256/ＡAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd8=",
            "pin-sha256=\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"",
        ])
    func malformed(text: String) {
        expectPinningError(.malformedPin) { try Pin(text) }
    }

    @Test("The hash of no bytes is rejected as bytes and in a list, unless the caller allows it")
    func hashOfNothing() throws {
        let nothing = Pin(spki: [])
        expectPinningError(.malformedPin) { try Pin(spkiSHA256: nothing.bytes) }
        expectPinningError(.malformedPin) { try Pin.list([base64, nothing.description]) }
        #expect(try Pin(nothing.description, allowingHashOfNothing: true) == nothing)
    }

    @Test("A pin that is not 32 bytes long is rejected", arguments: [0, 31, 33])
    func wrongLength(count: Int) {
        expectPinningError(.malformedPin) { try Pin(spkiSHA256: [UInt8](repeating: 1, count: count)) }
    }

    @Test("Pins that differ in a single byte are different")
    func everyByteCounts() throws {
        let pin = try Pin(spkiSHA256: bytes)
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 1
            #expect(try Pin(spkiSHA256: other) != pin)
        }
    }

    @Test("An empty list of pins is rejected, because it must not mean that every key matches")
    func emptyList() {
        expectPinningError(.noPins) { try Pin.list([String]()) }
    }

    @Test("A list that contains a pin twice is rejected, even in different spellings")
    func duplicate() {
        expectPinningError(.duplicatePin) { try Pin.list(["sha256/" + base64, base64]) }
    }

    @Test("A list with one malformed pin is rejected")
    func malformedInList() {
        expectPinningError(.malformedPin) { try Pin.list([base64, "sha256/x"]) }
    }

    @Test("The error shows the text without control characters and says what to do")
    func message() {
        let error = #expect(throws: PinningError.self) { try Pin("evil\n\u{1B}[31m") }
        #expect(error?.message.contains("\n") == false)
        #expect(error?.message.contains("approov pin -get") == true)
    }
}
