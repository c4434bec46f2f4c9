import Crypto
import Foundation
import HTTPTypes

/// The names of a recording's files: `0001-GET-api.example.com-items-7-1f00c3a9`, with `.json` or `.body`.
///
/// The digits at the end are from a hash of method and URL. What stands before them helps readers, and contains only letters, digits, dots
/// between others, and hyphens, whatever the URL has.
enum RecordingName {
    static let headSuffix = ".json"
    static let bodySuffix = ".body"
    private static let maximumLength = 100

    /// The name of an exchange's files, without a suffix; at most 100 bytes.
    static func stem(number: Int, method: HTTPRequest.Method, url: String) -> String {
        let digits = String(number)
        let hash = RedactedText.hexadecimal(SHA256.hash(data: Data("\(method.rawValue) \(url)".utf8)), count: 8)
        let place = url.prefix { $0 != "?" }.split(separator: "/").dropFirst().joined(separator: "-")
        var words = ""
        for character in "\(method.rawValue)-\(place)".unicodeScalars {
            let isPlain = character.isASCII && (character.properties.isAlphabetic || ("0"..."9").contains(Character(character)))
            let next: Character = isPlain || (character == "." && words.last != "." && words.last != "-") ? Character(character) : "-"
            guard next != "-" || words.last != "-" else { continue }
            words.append(next)
        }
        let head = String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "-" + words
        return head.prefix(maximumLength - hash.count - 1) + "-" + hash
    }

    /// The four digits that a file's name begins with; nil for a file of another origin, such as `20240101-notes.txt`.
    static func number(in name: String) -> Int? {
        guard name.hasSuffix(headSuffix) || name.hasSuffix(bodySuffix) else { return nil }
        let digits = name.utf8.prefix { (0x30...0x39).contains($0) }
        guard digits.count == 4, name.utf8.dropFirst(digits.count).first == UInt8(ascii: "-") else { return nil }
        return Int(String(Substring(digits)))
    }
}
