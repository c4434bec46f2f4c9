import ApproovAuthority
import Foundation

/// The executables in a file for `approov registration -import`.
///
/// A line holds a measurement, an optional date, which is ignored, and an optional label. This is the format of `registration -list` and of
/// `sha256sum`. Empty lines and lines that begin with `#` are ignored.
struct RegistrationImport {
    private static let maximumBytes = 4 << 20

    private(set) var entries: [(measurement: String, label: String)] = []

    /// Reads a file, or standard input for `-`.
    /// - Throws: `CommandFailure` that names the file and the line.
    init(file: String) throws {
        let name = Files.inputName(file)
        guard
            let text = String(validating: try Files.input(file, limit: Self.maximumBytes, what: "the registrations"), as: UTF8.self)
        else { throw CommandFailure("\(name): the file is not text (UTF-8)") }
        var known: [String: (line: Int, label: String)] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" }).enumerated() {
            let number = index + 1
            guard let (measurement, label) = try Self.entry(line, at: "\(name), line \(number)") else { continue }
            if let first = known[measurement] {
                guard first.label == label else {
                    throw CommandFailure(
                        "\(name), line \(number): line \(first.line) has the same measurement with another label; remove one of them")
                }
                continue
            }
            known[measurement] = (number, label)
            entries.append((measurement, label))
        }
    }

    private static func entry(_ line: Substring, at place: String) throws -> (measurement: String, label: String)? {
        var rest = line.drop { $0.isWhitespace }
        guard !rest.isEmpty, !rest.hasPrefix("#") else { return nil }
        let measurement: String
        do {
            measurement = try AuthorityStore.canonicalMeasurement(String(word(&rest)))
        } catch let error as AuthorityError {
            throw CommandFailure("\(place): \(error.message)")
        }
        var afterDate = rest
        let second = word(&afterDate)
        if second == "-" || RFC3339.date(String(second)) != nil { rest = afterDate }
        let label = String(rest.trimmingCharacters(in: .whitespaces))
        guard label.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw CommandFailure("\(place): the label contains a control character; use plain text")
        }
        return (measurement, label)
    }

    /// Removes and returns the first word, and removes the white space after it.
    private static func word(_ text: inout Substring) -> Substring {
        let word = text.prefix { !$0.isWhitespace }
        text = text.dropFirst(word.count).drop { $0.isWhitespace }
        return word
    }
}
