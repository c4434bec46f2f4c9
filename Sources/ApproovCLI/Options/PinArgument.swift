import ApproovBase
import CertificatePinning

/// The value of `-pin` or `-pinFrom`: a pin, or a file whose keys to pin.
///
/// Both names belong to one option, because the parser keeps the order only within an option, and the first pin is the current one.
struct PinArgument {
    private let text: String

    /// - Parameter text: A pin, with or without `sha256/`, or the path of a file.
    init(_ text: String) { self.text = text }

    /// Reads the pins.
    /// - Returns: One pin, or those of the file's keys in its order.
    /// - Throws: `PinningError` when text that begins with `sha256/` is no pin; `CommandFailure` when other text is neither a pin nor a
    ///   file, and, with the file's name, when it cannot be read or has no key.
    func pins() throws -> [Pin] {
        if text.hasPrefix(PinText.prefix) { return [try Pin(text)] }
        guard FileStatus(text) == nil else { return try Files.pins(inFile: text, of: "-pinFrom") }
        do {
            return [try Pin(text)]
        } catch {
            let quoted = "\"\(LoggableText.quoted(text, limit: 1_024))\""
            throw CommandFailure("there is no file \(quoted); give the path of a certificate or key, or a pin (\(error))")
        }
    }
}
