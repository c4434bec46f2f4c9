import ArgumentParser

/// The `HOST:PORT` that a server listens on; an IPv6 address is in brackets.
struct ListenAddress: CustomStringConvertible {
    let host: String
    let port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads the option's value.
    /// - Throws: `ValidationError` that says which part is wrong.
    init(argument: String) throws {
        guard let colon = argument.lastIndex(of: ":"), !argument.hasSuffix("]") else {
            throw ValidationError(
                UInt16(argument) == nil
                    ? "the port is missing; write for example \(argument):8443"
                    : "the host is missing; write for example 127.0.0.1:\(argument)")
        }
        guard let port = UInt16(argument[argument.index(after: colon)...]) else {
            throw ValidationError("the port must be a number from 0 to 65535")
        }
        var host = argument[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw ValidationError("an IPv6 address must be in brackets; write for example [::1]:8443")
        }
        guard !host.isEmpty else { throw ValidationError("the host is missing; write for example 127.0.0.1\(argument)") }
        self.init(host: String(host), port: Int(port))
    }

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
