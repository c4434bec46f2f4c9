/// Posts numbered requests to a server that answers each with its body.
struct EchoClient: BusyClient {
    private let connection: any PostingConnection
    private let path: String
    private let type: String
    private let client: Int
    private var number = 0

    /// - Parameters:
    ///   - client: The client's number, which makes its requests different from those of others.
    ///   - connection: Posts to the server.
    ///   - path: The path to post to.
    ///   - type: The media type of the requests.
    init(_ client: Int, _ connection: any PostingConnection, path: String, type: String = "text/plain") {
        (self.client, self.connection, self.path, self.type) = (client, connection, path, type)
    }

    mutating func request() async throws -> (id: String, isAnswered: Bool)? {
        number += 1
        let id = "\(client)-\(number)"
        do {
            guard let answer = try await connection.post(path, type: type, Array(id.utf8)) else { return (id, false) }
            return (id, answer.status == 200 && String(decoding: answer.body, as: UTF8.self) == id)
        } catch {
            return (id, false)
        }
    }

    func end() async { await connection.end() }
}
