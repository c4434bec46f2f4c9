internal import Approov
internal import ApproovBase
internal import CertificatePinning
public import Foundation

extension APIEnvironment {
    /// The largest accepted file, in bytes.
    private static let maximumBytes = 1 << 20

    /// Reads an environment from a JSON file (RFC 8259).
    ///
    /// ```json
    /// {
    ///   "production": { "baseURL": "https://api.example.com/v1/", "configuration": "approov-initial.config" },
    ///   "staging": { "baseURL": "https://staging.example.com/v1/", "trust": "pinned", "pins": ["sha256/…", "sha256/…"] },
    ///   "local": { "baseURL": "https://api.example.com/v1/", "recordings": "recordings" }
    /// }
    /// ```
    ///
    /// Paths are relative to the file's folder. An environment with `recordings` is local. The file has
    /// no client certificate: ``presenting(_:)`` adds one.
    ///
    /// - Parameters:
    ///   - name: The environment's name in the file.
    ///   - file: The file, such as `approov-environments.json`.
    /// - Returns: The environment.
    /// - Throws: ``APIError`` with code `invalidEnvironment`, which names the file and the environment: when the file cannot be read, is not
    ///   strict JSON, lacks the name, or has a member that is unknown or not valid.
    public static func named(_ name: String, from file: URL) throws -> APIEnvironment {
        let path = file.path(percentEncoded: false)
        let json: JSONValue
        do {
            json = try JSONValue(parsing: BoundedFile.read(path, limit: maximumBytes), limit: maximumBytes)
        } catch {
            throw APIError(.invalidEnvironment, "the environments in \(path) cannot be read", cause: error)
        }
        guard case .object(let environments) = json else {
            throw APIError(.invalidEnvironment, "\(path) must have one JSON object, with a member for each environment")
        }
        guard let value = environments[name] else {
            let known = environments.keys.sorted().prefix(20).map(LoggableText.name).joined(separator: ", ")
            throw APIError(.invalidEnvironment, "\(path) has no environment \(LoggableText.name(name)); it has: \(known)")
        }
        guard case .object(let members) = value else {
            throw APIError(.invalidEnvironment, "the environment \(LoggableText.name(name)) in \(path) must be a JSON object")
        }
        do {
            return try APIEnvironment(name, members, folder: file.deletingLastPathComponent())
        } catch let flaw as Flaw {
            throw APIError(.invalidEnvironment, "the environment \(LoggableText.name(name)) in \(path) \(flaw.text)", cause: flaw.cause)
        }
    }

    private struct Flaw: Error {
        let text: String
        var cause: (any Error)?
    }

    private init(_ name: String, _ members: [String: JSONValue], folder: URL) throws {
        // A misspelt member must not leave its default in force.
        for member in members.keys.sorted() where !["baseURL", "configuration", "recordings", "trust", "pins"].contains(member) {
            throw Flaw(text: "has the unknown member \(LoggableText.name(member)): correct or remove it")
        }
        func string(_ member: String) throws -> String? {
            switch members[member] {
            case nil: return nil
            case .string(let text)? where !text.isEmpty: return text
            default: throw Flaw(text: "has a \"\(member)\" that is no text")
            }
        }
        guard let text = try string("baseURL"), let url = URL(string: text) else { throw Flaw(text: "has no \"baseURL\"") }
        let trust = try string("trust").map { word in
            guard let trust = Trust(rawValue: word) else {
                throw Flaw(text: "has an unknown \"trust\": use \(Trust.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            return trust
        }
        let configuration = try string("configuration")
        let recordings = try string("recordings")
        guard configuration == nil || recordings == nil else {
            throw Flaw(text: "has both \"configuration\" and \"recordings\": only a remote environment attests")
        }
        let source: Source
        if let recordings {
            source = .local(recordings: URL(filePath: recordings, directoryHint: .isDirectory, relativeTo: folder))
        } else {
            do {
                source = .remote(
                    configuration: try configuration.map { try ApproovConfiguration(contentsOf: URL(filePath: $0, relativeTo: folder)) })
            } catch {
                throw Flaw(text: "has a configuration that cannot be used", cause: error)
            }
        }
        try self.init(name, baseURL: url, source: source, trust: trust ?? .pinned, pins: try Self.pins(members["pins"]))
    }

    private static func pins(_ value: JSONValue?) throws -> Set<Pin> {
        guard let value else { return [] }
        guard case .array(let elements) = value else { throw Flaw(text: "has \"pins\" that are no list") }
        let texts = try elements.map { element in
            guard case .string(let text) = element else { throw Flaw(text: "has a pin that is no text") }
            return text
        }
        do {
            return try Pin.list(texts)
        } catch {
            throw Flaw(text: "has \"pins\" that are not valid", cause: error)
        }
    }
}
