import Approov

func watchedSession(service: ApproovService?, gate: RequestGate) throws -> ApproovSession {
    var configuration = ApproovSessionConfiguration()
    configuration.observers = [ConsoleLog(level: .info)]
    configuration.metrics = ClientMetrics(hosts: ["api.example.com"])
    configuration.interceptors = [RetryPolicy()]
    configuration.gate = gate
    return try ApproovSession(service: service, configuration: configuration)
}
