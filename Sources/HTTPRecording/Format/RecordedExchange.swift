import ApproovBase
import Foundation
import HTTPClient
import HTTPTypes

/// The head of one recorded exchange: a JSON file of a recording.
///
/// ```json
/// {
///   "request" : {
///     "bodySHA256" : "9f86d081…",
///     "fields" : ["Accept: application/json", "Authorization: REDACTED-1f00c3"],
///     "method" : "GET",
///     "url" : "https://api.example.com/items?page=2&q=REDACTED-8a2b1c"
///   },
///   "response" : { "body" : "0001-GET-….body", "fields" : ["Content-Type: application/json"], "status" : 200, "version" : "HTTP/2" }
/// }
/// ```
struct RecordedExchange: Sendable {
    /// The largest accepted file.
    static let maximumBytes = 1 << 20
    /// The most header fields of an accepted response: with many more, `HTTPFields` would end the process.
    private static let maximumFields = 10_000

    var method: HTTPRequest.Method
    /// The redacted URL; absolute.
    var url: String
    /// The lines `Name: value`; of a file that was edited, those that are text.
    var requestLines: [String] = []
    /// The SHA-256 of the redacted request body, in hexadecimal; nil when it is not known, as for a stream, or could be guessed.
    var bodyDigest: String?
    var status: Int
    var version: String
    var responseLines: [String]
    /// The name of the file with the response's body; nil when that is empty.
    var bodyName: String?

    /// The file's text: sorted and indented, so that changes of a committed recording are easy to review.
    func serialized() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let request = Written.Request(bodySHA256: bodyDigest, fields: requestLines, method: method.rawValue, url: url)
        let response = Written.Response(body: bodyName, fields: responseLines, status: status, version: version)
        return Array(try encoder.encode(Written(request: request, response: response))) + [UInt8(ascii: "\n")]
    }

    private struct Written: Encodable {
        struct Request: Encodable {
            let bodySHA256: String?
            let fields: [String]
            let method: String
            let url: String
        }

        struct Response: Encodable {
            let body: String?
            let fields: [String]
            let status: Int
            let version: String
        }

        let request: Request
        let response: Response
    }
}

extension RecordedExchange {
    /// Why a file is not a recorded exchange.
    struct Damage: Error {
        let reason: String
    }

    /// Reads a file's text.
    ///
    /// - Throws: ``Damage`` when a member is missing or has a value that no response could have.
    init(parsing bytes: [UInt8]) throws(Damage) {
        let json: JSONValue
        do throws(JSONError) {
            json = try JSONValue(parsing: bytes, limit: Self.maximumBytes)
        } catch {
            throw Damage(reason: error.message)
        }
        guard case .object(let members) = json, case .object(let request)? = members["request"],
            case .object(let response)? = members["response"]
        else { throw Damage(reason: "it must have the objects \"request\" and \"response\"") }
        guard case .string(let method)? = request["method"], let method = HTTPRequest.Method(method) else {
            throw Damage(reason: "its request has no valid \"method\"")
        }
        guard case .string(let url)? = request["url"], let parsed = try? TransportURL(url) else {
            throw Damage(reason: "its request has no valid \"url\", which starts with https:// or http://")
        }
        guard case .integer(let status)? = response["status"], (200...999).contains(status) else {
            throw Damage(reason: "its response has no \"status\" from 200 to 999")
        }
        self.method = method
        self.url = parsed.text
        self.status = Int(status)
        if case .string(let digest)? = request["bodySHA256"] { bodyDigest = digest }
        if case .array(let elements)? = request["fields"] {
            requestLines = elements.compactMap { element in
                guard case .string(let line) = element else { return nil }
                return line
            }
        }
        if case .string(let version)? = response["version"] { self.version = version } else { version = "HTTP/1.1" }
        responseLines = try Self.lines(response["fields"])
        switch response["body"] {
        case nil, .null?: bodyName = nil
        case .string(let name)? where Self.isPlain(name): bodyName = name
        default: throw Damage(reason: "its response's \"body\" must be the name of a file in the same folder")
        }
        _ = try responseFields
    }

    /// The response's header fields.
    var responseFields: HTTPFields {
        get throws(Damage) {
            guard responseLines.count <= Self.maximumFields else {
                throw Damage(reason: "its response's \"fields\" must have at most \(Self.maximumFields) lines")
            }
            var fields = HTTPFields()
            for line in responseLines {
                guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
                    throw Damage(reason: "a line of its response's \"fields\" is not \"Name: value\"")
                }
                let value = String(line[line.index(after: colon)...].drop { $0 == " " })
                guard HTTPField.isValidValue(value) else { throw Damage(reason: "a field of its response has a value that is not valid") }
                fields.append(HTTPField(name: name, value: value))
            }
            return fields
        }
    }

    private static func lines(_ value: JSONValue?) throws(Damage) -> [String] {
        guard let value else { return [] }
        guard case .array(let elements) = value else { throw Damage(reason: "its response's \"fields\" must be a list") }
        var lines: [String] = []
        for element in elements {
            guard case .string(let line) = element else { throw Damage(reason: "its response's \"fields\" must be a list of strings") }
            lines.append(line)
        }
        return lines
    }

    /// Whether the name cannot lead out of the folder, and has no control characters.
    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 255 && name != "." && name != ".."
            && !name.utf8.contains { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "/") }
    }
}
