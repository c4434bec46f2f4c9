import Approov

func signingSession(service: ApproovService) throws -> ApproovSession {
    var configuration = ApproovSessionConfiguration()
    configuration.bindHeader = "Authorization"
    configuration.signing = .installation()
    return try ApproovSession(service: service, configuration: configuration)
}
