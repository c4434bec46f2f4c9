/// Reads the head of a request that a browser sent to the listener (RFC 9112, section 2.1).
enum LoopbackHead {
    /// The number of bytes of the head with its empty line; nil while it is not complete.
    static func end(of bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in 3..<bytes.count
        where bytes[index] == 10 && bytes[index - 1] == 13 && bytes[index - 2] == 10 && bytes[index - 3] == 13 { return index + 1 }
        return nil
    }

    /// The query of a GET request for a path of a host; else the answer that the browser gets.
    static func query(of head: ArraySlice<UInt8>, path: String, host: String) -> Result<String, LoopbackAnswer> {
        guard let text = String(validating: head, as: UTF8.self), text.utf8.allSatisfy({ $0 == 13 || $0 == 10 || $0 == 9 || $0 >= 0x20 })
        else { return .failure(.malformed) }
        // CR LF is one character to Swift. A CR or an LF alone inside a line is no end of it, and is refused.
        let lines = text.dropLast(2).split(separator: "\r\n", omittingEmptySubsequences: false)
        guard lines.allSatisfy({ !$0.utf8.contains(13) && !$0.utf8.contains(10) }), let first = lines.first else {
            return .failure(.malformed)
        }
        let words = first.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else { return .failure(.malformed) }
        guard words[0] == "GET" else { return .failure(.wrongMethod) }
        // A name that another page's owner points at 127.0.0.1 shows in this field (DNS rebinding).
        let hosts = lines.dropFirst().filter { $0.prefix { $0 != ":" }.lowercased() == "host" }
            .map { $0.drop { $0 != ":" }.dropFirst().drop { $0 == " " || $0 == "\t" } }
        guard hosts.count == 1, hosts[0] == host else { return .failure(.wrongHost) }
        let target = words[1]
        guard target.prefix(while: { $0 != "?" }) == path, target.contains("?"), !target.contains("#") else { return .failure(.notFound) }
        return .success(String(target.drop { $0 != "?" }.dropFirst()))
    }
}
