public import Metrics

/// The metrics of a session (swift-metrics): how many calls, how long they take, and how they fail.
///
/// ```swift
/// configuration.metrics = ClientMetrics(hosts: ["api.example.com"])
/// ```
///
/// - `approov_client_calls` counts the calls that got a response, by `method`, `status` ("2xx"), `attested`, `oblivious` and `host`.
/// - `approov_client_failures` counts the calls that failed, by `method`, `code`, `attested`, `oblivious` and `host`.
/// - `approov_client_duration` times all calls to the end of the body, by `method`, `attested`, `oblivious` and `host`.
///
/// No label has a value that users or servers can choose: unknown methods are `_OTHER`, unknown codes and hosts `other`.
public struct ClientMetrics: Sendable {
    /// The number of hosts that can have a label.
    public static let maximumHosts = 100

    let factory: any MetricsFactory
    let hosts: Set<String>

    /// Creates the metrics.
    ///
    /// - Parameters:
    ///   - factory: Makes the counters and timers; by default `MetricsSystem.factory`.
    ///   - hosts: The canonical names of the hosts that get their own value of the label `host`; all others are `other`. If there are more
    ///     than ``maximumHosts``, only the first ones in alphabetical order get one.
    public init(factory: any MetricsFactory = MetricsSystem.factory, hosts: Set<String> = []) {
        self.factory = factory
        self.hosts = Set(hosts.map { $0.lowercased() }.sorted().prefix(Self.maximumHosts))
    }
}
