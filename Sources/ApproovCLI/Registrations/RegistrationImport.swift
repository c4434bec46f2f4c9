import ApproovAuthority
import Foundation

/// The executables in a file for `approov registration -import`.
///
/// A line holds a measurement, an optional date, which is ignored, an optional expiry (`expires` or `expired` and a date), and an optional
/// label. This is the format of `registration -list` and of `sha256sum`. Empty lines and lines that begin with `#` are ignored.
struct RegistrationImport {
    private static let maximumBytes = 4 << 20

    private(set) var entries: [(measurement: String, label: String, expiresAt: Int64?)] = []

    /// Reads a file, or standard input for `-`.
    /// - Throws: `CommandFailure` that names the file and the line, including when the file has no entries.
    init(file: String) throws {
        let name = Files.inputName(file)
        guard
            let text = String(validating: try Files.input(file, limit: Self.maximumBytes, what: "the registrations"), as: UTF8.self)
        else { throw CommandFailure("\(name): the file is not text (UTF-8)") }
        var known: [String: (line: Int, label: String, expiresAt: Int64?)] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" }).enumerated() {
            let number = index + 1
            guard let (measurement, label, expiresAt) = try Self.entry(line, at: "\(name), line \(number)") else { continue }
            if let first = known[measurement] {
                guard first.label == label, first.expiresAt == expiresAt else {
                    throw CommandFailure(
                        "\(name), line \(number): line \(first.line) has the same measurement with another label or expiry; "
                            + "remove one of them")
                }
                continue
            }
            known[measurement] = (number, label, expiresAt)
            entries.append((measurement, label, expiresAt))
        }
        guard !entries.isEmpty else {
            throw CommandFailure("\(name) has no entries; each line must have a measurement and a label, as sha256sum prints them")
        }
    }

    private static func entry(_ line: Substring, at place: String) throws -> (measurement: String, label: String, expiresAt: Int64?)? {
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
        let expiresAt = try Self.expiry(&rest, at: place)
        let label = String(rest.trimmingCharacters(in: .whitespaces))
        guard RegistrationLabel.isPlain(label) else {
            throw CommandFailure("\(place): the label contains a control character; use plain text")
        }
        return (measurement, label, expiresAt)
    }

    /// Removes and returns an expiry as `-list` prints it; nil, and no change, for any other text.
    /// - Throws: `CommandFailure` for a mistyped date: as part of the label, it would make a registration that never ends.
    private static func expiry(_ text: inout Substring, at place: String) throws -> Int64? {
        var rest = text
        let verb = word(&rest)
        guard verb == "expires" || verb == "expired" else { return nil }
        let end = word(&rest)
        guard let date = RFC3339.date(String(end)) else {
            guard end.first?.isNumber == true else { return nil }
            throw CommandFailure(
                "\(place): the word after \(verb) is not a time in RFC 3339, such as 2027-01-31T12:00:00Z; if it belongs to the label, "
                    + "begin the label with another word")
        }
        guard date.timeIntervalSince1970 >= 1 else {
            throw CommandFailure("\(place): the time after \(verb) must be after the beginning of 1970; correct it")
        }
        text = rest
        return Int64(date.timeIntervalSince1970)
    }

    /// Removes and returns the first word, and removes the white space after it.
    private static func word(_ text: inout Substring) -> Substring {
        let word = text.prefix { !$0.isWhitespace }
        text = text.dropFirst(word.count).drop { $0.isWhitespace }
        return word
    }
}
