import Approov
import Foundation
import FoundationNetworking

/// The request of `approov call`, and how its response is printed.
struct Call {
    let url: URL
    let method: String?
    let headers: [(name: String, value: String)]
    let body: String?
    let includeHead: Bool
    let verbose: Bool

    /// The given method; without one, POST with a body and GET without.
    var sentMethod: String { method ?? (body == nil ? "GET" : "POST") }

    /// Makes the call and writes the response's body to standard output.
    ///
    /// The body is written as it arrives, or whole when the call uploads a file (`@FILE`).
    /// - Returns: The status code.
    func perform(with session: ApproovSession) async throws -> Int {
        var request = URLRequest(url: url)
        request.httpMethod = sentMethod
        for header in headers { request.addValue(header.value, forHTTPHeaderField: header.name) }
        guard let body, body.hasPrefix("@") else {
            request.httpBody = body.map { Data($0.utf8) }
            let (bytes, response) = try await session.bytes(for: request)
            try write(response)
            for try await chunk in bytes.chunks { try write(Data(chunk)) }
            return response.statusCode
        }
        let path = String(body.dropFirst())
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw CommandFailure("the body file \(path) does not exist or cannot be read")
        }
        let (data, response) = try await session.upload(for: request, fromFile: URL(filePath: path))
        try write(response)
        try write(data)
        return response.statusCode
    }

    private func write(_ response: HTTPURLResponse) throws {
        if verbose { Console.note("< \(response.statusCode) from \(response.url?.host() ?? "")") }
        guard includeHead else { return }
        let fields = response.allHeaderFields.map { "\($0.key): \($0.value)" }.sorted()
        try write(Data((["HTTP \(response.statusCode)"] + fields + ["", ""]).joined(separator: "\n").utf8))
    }

    private func write(_ data: Data) throws {
        do {
            try FileHandle.standardOutput.write(contentsOf: data)
        } catch {
            throw CommandFailure("the response cannot be written to standard output: it was closed, or its disk is full")
        }
    }
}
