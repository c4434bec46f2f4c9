import ArgumentParser
import CertificatePinning
import HTTPClient

/// Checks of options that name another server, and its pins.
enum ServerOptions {
    /// The URL that an option names: https, or http on this machine.
    ///
    /// - Parameters:
    ///   - text: The option's value.
    ///   - option: The option, as it is written.
    ///   - example: A URL that it could be.
    /// - Returns: The URL.
    /// - Throws: `ValidationError`
    static func url(_ text: String, of option: String, such example: String) throws -> TransportURL {
        guard let url = try? TransportURL(text) else { throw ValidationError("\(option) must be a URL such as \(example).") }
        guard url.isSecure || url.host.isLoopback else {
            throw ValidationError("\(option) may be plain http on this machine alone; give its https URL.")
        }
        return url
    }

    /// Checks the values of `--pin`.
    ///
    /// - Throws: `ValidationError`
    static func check(pins: [String]) throws {
        for text in pins where (try? Pin(text)) == nil { throw ValidationError("--pin must be sha256/ and the base64 of 32 bytes.") }
    }
}
