import ArgumentParser
import Testing

@testable import ApproovCLI

@Suite struct TrustedProxyOptionsTests {
    private static let servers = [
        ["serve"], ["relay", "--listen", "127.0.0.1:0", "--gateway", "http://127.0.0.1:1/"],
        ["gateway", "--listen", "127.0.0.1:0", "--keys", "keys", "--allow", "https://api.example.com"],
    ]

    @Test("Every server accepts --trusted-proxy several times", arguments: servers)
    func accepted(server: [String]) {
        #expect(throws: Never.self) {
            try ApproovCommand.parseAsRoot(server + ["--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "2001:db8::7"])
        }
    }

    @Test("A malformed range is rejected, and the message says how to correct it", arguments: servers)
    func refused(server: [String]) {
        #expect {
            try ApproovCommand.parseAsRoot(server + ["--trusted-proxy", "10.0.0.1/8"])
        } throws: {
            ApproovCommand.message(for: $0).contains("--trusted-proxy 10.0.0.1/8 has bits set after the first 8; write the first address")
        }
    }

    @Test("gateway --rotate accepts no --trusted-proxy")
    func rotate() {
        #expect(throws: (any Error).self) {
            try ApproovCommand.parseAsRoot(["gateway", "--keys", "keys", "--rotate", "--trusted-proxy", "10.0.0.0/8"])
        }
    }
}
