import ApproovBase
import Testing

@Suite struct PinTextTests {
    private static let encoded = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    @Test("A pin is read with or without its prefix, and written with it")
    func forms() {
        for text in [Self.encoded, "sha256/" + Self.encoded] { #expect(PinText.digest(text) == PinText.hashOfNothing) }
        #expect(PinText.text(PinText.hashOfNothing) == "sha256/" + Self.encoded)
    }

    @Test("Any other text is not a pin")
    func refused() {
        let stray = Self.encoded.dropLast(2) + "V="
        for text in [
            "", "sha256/", "sha1/" + Self.encoded, "SHA256/" + Self.encoded, "sha256/sha256/" + Self.encoded, Self.encoded + "=",
            String(Self.encoded.dropLast()), String(stray), " " + Self.encoded, Base64.encode([UInt8](repeating: 1, count: 31)),
            Base64.encode([UInt8](repeating: 1, count: 33)),
        ] {
            #expect(PinText.digest(text) == nil, "\(text)")
        }
    }
}
