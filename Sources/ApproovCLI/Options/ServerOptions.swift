import ArgumentParser
import CertificatePinning
import HTTPClient

/// Checks for options that name another server and its pins.
enum ServerOptions {
    /// Parses an option's URL, which must be https, or http on this machine.
    ///
    /// - Parameters:
    ///   - text: The option's value.
    ///   - option: The option's name, for the message.
    ///   - example: A valid URL, for the message.
    /// - Returns: The URL.
    /// - Throws: `ValidationError` when the text is no such URL.
    static func url(_ text: String, of option: String, such example: String) throws -> TransportURL {
        guard let url = try? TransportURL(text) else { throw ValidationError("\(option) must be a URL such as \(example).") }
        guard url.isSecure || url.host.isLoopback else {
            throw ValidationError("\(option) may be plain http only on this machine: give an https URL.")
        }
        return url
    }

    /// Checks the values of an option that takes pins.
    ///
    /// - Throws: `ValidationError` when one is not a pin.
    static func check(pins: [String], of option: String = "--pin") throws {
        for text in pins where (try? Pin(text)) == nil {
            throw ValidationError("\(option) must be sha256/ followed by the base64 of 32 bytes; approov pin -get HOST|FILE prints it.")
        }
    }
}
