import NIOSSL
import Testing

@testable import HTTPServing

@Suite struct ConnectionGuardianTests {
    @Test(
        "The server speaks TLS 1.2 and later, whatever earlier version its configuration allows",
        arguments: [(TLSVersion.tlsv1, TLSVersion.tlsv12), (.tlsv11, .tlsv12), (.tlsv12, .tlsv12), (.tlsv13, .tlsv13)])
    func version(configured: TLSVersion, served: TLSVersion) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = configured
        let guardian = ConnectionGuardian(tls: tls, limits: ListenerLimits(requestTimeout: .seconds(1)), proxies: [], places: 1)
        #expect(guardian.tls?.minimumTLSVersion == served)
    }
}
