import ApproovTokenCheck
import Hummingbird

func backend(
    _ router: Router<BasicTokenCheckedRequestContext>, at address: BindAddress, certificate: String, key: String
) throws -> Application<RouterResponder<BasicTokenCheckedRequestContext>> {
    let connections = try ConnectionGuard(tls: .certificate(certificatePEM: certificate, keyPEM: key))
    return Application(router: router, server: connections.server, configuration: .init(address: address))
}
