import Approov
import Foundation
import FoundationNetworking

/// (c) What the interceptor adds to a request whose token is cached, beside what it costs to set two header fields by hand.
struct InterceptorBenchmark {
    let options: Options

    func run() async throws -> [Figure] {
        let backend = try BackendProcess(options: options)
        defer { backend.stop() }
        let app = try ProtectedApp(backend)
        defer { app.remove() }
        let bound = try ApproovInterceptor(service: app.service, bindHeader: "Authorization")
        let unbound = try ApproovInterceptor(service: app.service)
        let request = try ProtectedApp.request(backend.api + "/five")
        guard try await bound.adapt(request).value(forHTTPHeaderField: "Approov-Token") != nil else {
            throw BenchmarkError("the interceptor added no token")
        }
        let steps: [(String, () async throws -> Void)] = [
            ("ApproovInterceptor, bound", { blackHole(try await bound.adapt(request)) }),
            ("ApproovInterceptor, unbound", { blackHole(try await unbound.adapt(request)) }),
            (
                "two fields by hand",
                {
                    var request = request
                    request.setValue("token", forHTTPHeaderField: "Approov-Token")
                    request.setValue("trace", forHTTPHeaderField: "Approov-TraceID")
                    blackHole(request)
                }
            ),
        ]
        let peers = ["two fields by hand"]
        let times = try await Comparison(group: "interceptor", scenario: "cached token", unit: .nanoseconds, peers: peers)
            .run(
                steps.map { step in
                    Subject(step.0, isPeer: peers.contains(step.0)) { try await nanosecondsPerCall(during: options.seconds, step.1) }
                },
                options: options)
        let allocations = try await Comparison(group: "interceptor", scenario: "allocations", unit: .count, peers: peers)
            .run(steps.map { step in Subject(step.0) { try await allocationsPerCall(step.1) } }, options: options)
        return times + allocations
    }
}
