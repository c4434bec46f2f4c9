import HTTPServing
import Testing

@Suite struct ListenerAddressTests {
    @Test(
        "Addresses in 127.0.0.0/8, ::1 and names under localhost are loopback",
        arguments: ["127.0.0.1", "127.8.9.1", "::1", "localhost", "api.demo.localhost"])
    func loopback(host: String) {
        #expect(ListenerAddress.isLoopback(host))
    }

    @Test("Other addresses are not loopback", arguments: ["0.0.0.0", "::", "192.168.0.1", "localhost.example.com", "", "127.1"])
    func others(host: String) {
        #expect(!ListenerAddress.isLoopback(host))
    }

    @Test("The URL has the bound port, and localhost if the listener is bound to all addresses")
    func url() {
        #expect(ListenerAddress(host: "127.0.0.1", port: 0, tls: nil).url(port: 81) == "http://127.0.0.1:81")
        #expect(ListenerAddress(host: "::1", port: 0, tls: nil).url(port: 81) == "http://[::1]:81")
        #expect(ListenerAddress(host: "0.0.0.0", port: 0, tls: nil).url(port: 81) == "http://localhost:81")
    }

    @Test("A malformed certificate is an error, and plain HTTP is only for loopback addresses")
    func refusals() throws {
        func kind(_ host: String, _ identity: (certificatePEM: String, keyPEM: String)?) -> ListenerFailure.Kind? {
            do throws(ListenerFailure) {
                _ = try ListenerAddress(host: host, port: 0, identity: identity)
                return nil
            } catch {
                return error.kind
            }
        }
        #expect(kind("0.0.0.0", ("none", "none")) == .unreadableIdentity)
        #expect(kind("0.0.0.0", nil) == .insecure)
        #expect(kind("127.0.0.1", nil) == nil)
    }
}
