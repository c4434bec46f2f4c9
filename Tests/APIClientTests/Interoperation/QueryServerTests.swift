import APIClient
import Approov
import ApproovBase
import ApproovTesting
import Foundation
import FoundationNetworking
import TestTags
import Testing

// Acceptance list: S2.13
/// Two other libraries parse our queries, which a session sends to a server of theirs.
@Suite(
    .tags(.sockets, .processes), .timeLimit(.minutes(5)),
    .enabled(PythonServer.whatIsMissing) { await PythonServer.isPossible() })
struct QueryServerTests {
    private struct Answer {
        let nested: JSONValue
        let flat: [[String]]
    }

    private func send(
        _ query: QueryValue, as format: QueryFormat, keepsIndices: Bool = false, to server: PythonServer, with session: ApproovSession
    ) async throws -> Answer {
        var builder = RequestBuilder(url: server.url.appending(path: "query"))
        builder.query = query
        builder.queryFormat = format
        let options =
            (format.dictionaries == .dotNotated ? ["dots"] : []) + (format.arrays == .commaSeparated ? ["comma"] : [])
            + (keepsIndices ? ["indices"] : [])
        builder.headers["X-Options"] = String(decoding: try JSONEncoder().encode(options), as: UTF8.self)
        let (data, head) = try await session.data(for: try builder.build().request)
        try #require(head.statusCode == 200)
        guard case .object(let members) = try JSONValue(parsing: [UInt8](data), limit: 1 << 20), let nested = members["nested"],
            case .array(let pairs)? = members["flat"]
        else { throw CancellationError() }
        let flat = pairs.map { pair -> [String] in
            guard case .array(let texts) = pair else { return [] }
            return texts.map { text in if case .string(let text) = text { text } else { "" } }
        }
        return Answer(nested: nested, flat: flat)
    }

    private struct Maker {
        var random: SeededGenerator
        let format: QueryFormat
        /// Whether arrays may contain arrays and dictionaries.
        var isDeep = false

        mutating func text(_ count: ClosedRange<Int>, without excluded: String = "") -> String {
            var text = ""
            for _ in 0..<Int.random(in: count, using: &random) {
                let value = UInt32.random(in: 1...255, using: &random)
                let scalar = UnicodeScalar(value).flatMap { excluded.unicodeScalars.contains($0) ? nil : $0 }
                text.unicodeScalars.append(scalar ?? "\u{1F431}")
            }
            return text
        }

        /// A name that is not a number: parsers take numbers for the places of an array.
        mutating func name() -> String { "n" + text(0...6, without: "[].") }

        mutating func single() -> QueryValue {
            switch Int.random(in: 0...3, using: &random) {
            case 0: .integer(.random(in: -1_000...1_000, using: &random))
            case 1: .bool(.random(using: &random))
            default: .string(text(1...8))
            }
        }

        mutating func value(depth: Int) -> QueryValue {
            switch Int.random(in: 0...(depth > 0 ? 4 : 1), using: &random) {
            case 2:
                // With one element, only an index or brackets tell an array from a single value.
                .array(
                    (0..<Int.random(in: 2...4, using: &random)).map { _ in isDeep ? value(depth: depth - 1) : single() })
            case 3, 4: dictionary(1...3, depth: depth - 1)
            default: single()
            }
        }

        mutating func dictionary(_ count: ClosedRange<Int>, depth: Int) -> QueryValue {
            var names: Set<String> = []
            return .dictionary(
                (0..<Int.random(in: count, using: &random)).compactMap { _ in
                    let name = name()
                    return names.insert(name).inserted ? QueryParameter(name, value(depth: depth)) : nil
                })
        }
    }

    /// What a parser makes of parameters: every single value is text, and an array may be an object whose names are the indices.
    private func parsed(_ value: QueryValue, keepsIndices: Bool = false) -> JSONValue {
        switch value {
        case .null: .null
        case .bool(let value): .string(value ? "true" : "false")
        case .integer(let value): .string(String(value))
        case .real(let value): .string(String(value))
        case .string(let text): .string(text)
        case .bytes(let bytes): .string(String(decoding: bytes, as: UTF8.self))
        case .array(let values) where keepsIndices:
            .object(Dictionary(uniqueKeysWithValues: values.enumerated().map { ("\($0)", parsed($1, keepsIndices: true)) }))
        case .array(let values): .array(values.map { parsed($0) })
        case .dictionary(let members):
            .object(Dictionary(uniqueKeysWithValues: members.map { ($0.name, parsed($0.value, keepsIndices: keepsIndices)) }))
        }
    }

    @Test(
        "Random trees in each format are parsed to the same trees",
        arguments: [QueryFormat.Arrays.indexed, .bracketed, .duplicatedKeys, .commaSeparated],
        [QueryFormat.Dictionaries.subscripted, .dotNotated])
    func trees(arrays: QueryFormat.Arrays, dictionaries: QueryFormat.Dictionaries) async throws {
        let session = try ApproovSession(service: nil)
        try await PythonServer.with { server in
            for (seed, space) in [QueryFormat.Space.percentEncoded, .plus].enumerated() {
                let format = QueryFormat(
                    arrays: arrays, dictionaries: dictionaries, space: space, encodingAlso: seed == 0 ? [] : Set("!'():@$/?*"))
                var maker = Maker(random: SeededGenerator(seed: UInt64(seed + 1)), format: format)
                for number in 0..<50 {
                    let query = maker.dictionary(1...4, depth: 3)
                    let answer = try await send(query, as: format, to: server, with: session)
                    #expect(answer.nested == parsed(query), "query \(number) with \(format)")
                }
            }
        }
    }

    @Test(
        "Arrays and dictionaries within arrays are parsed to the same trees by their indices",
        arguments: [QueryFormat.Dictionaries.subscripted, .dotNotated])
    func nestedArrays(dictionaries: QueryFormat.Dictionaries) async throws {
        let session = try ApproovSession(service: nil)
        let format = QueryFormat(dictionaries: dictionaries)
        try await PythonServer.with { server in
            var maker = Maker(random: SeededGenerator(seed: 5), format: format, isDeep: true)
            for number in 0..<100 {
                let query = maker.dictionary(1...4, depth: 4)
                // The library's own arrays do not mix single values with others.
                let answer = try await send(query, as: format, keepsIndices: true, to: server, with: session)
                #expect(answer.nested == parsed(query, keepsIndices: true), "query \(number)")
            }
        }
    }

    @Test(
        "Flat parameters with any characters in names and values arrive in their order, also with plus signs and spaces in other spellings")
    func flat() async throws {
        let session = try ApproovSession(service: nil)
        try await PythonServer.with { server in
            for (seed, format) in [
                QueryFormat(arrays: .duplicatedKeys), .form, QueryFormat(arrays: .duplicatedKeys, plus: .percentEncodedSpace),
                QueryFormat(arrays: .duplicatedKeys, plus: .literal, space: .plus),
            ].enumerated() {
                var maker = Maker(random: SeededGenerator(seed: UInt64(seed + 10)), format: format)
                for number in 0..<50 {
                    let pairs = (0..<6).map { _ in [maker.text(1...8), maker.text(0...8)] }
                    let query = QueryValue.dictionary(pairs.map { QueryParameter($0[0], .string($0[1])) })
                    let answer = try await send(query, as: format, to: server, with: session)
                    // Servers read a literal plus sign as a space.
                    let expected = format.plus == .percentEncoded ? pairs : pairs.map { $0.map { $0.replacing("+", with: " ") } }
                    #expect(answer.flat == expected, "query \(number) with \(format)")
                }
            }
        }
    }

    @Test("A parameter without a value is parsed as null")
    func null() async throws {
        let session = try ApproovSession(service: nil)
        try await PythonServer.with { server in
            let answer = try await send(["a": ["b": nil, "c": ""]], as: QueryFormat(), to: server, with: session)
            #expect(answer.nested == .object(["a": .object(["b": .null, "c": .string("")])]))
        }
    }
}
