import HTTPListener
import Hummingbird
import Logging
import Testing

@Suite struct HTTPListenerTests {
    @Test("an address that is not this machine's cannot be listened on, and the message names it", arguments: ["192.0.2.1", "no name"])
    func cannotListen(host: String) async throws {
        let listener = HTTPListener(
            address: ListenerAddress(host: host, port: 8_443, tls: nil), limits: ListenerLimits(requestTimeout: .seconds(1)))
        let failure = await #expect(throws: ListenerFailure.self) {
            try await listener.run(router: Router(), logger: Logger(label: "test")) { _ in }
        }
        #expect(failure?.kind == .cannotListen)
        #expect(failure?.message.contains("\(host) port 8443: end what listens there, or choose") == true)
    }
}
