import ApproovTokenCheck
import Hummingbird

func backend(
    _ router: Router<BasicRequestContext>, at address: BindAddress, certificate: String, key: String
) throws -> Application<RouterResponder<BasicRequestContext>> {
    let connections = try ConnectionGuard(tls: .certificate(certificatePEM: certificate, keyPEM: key))
    return Application(router: router, server: connections.server, configuration: .init(address: address))
}
