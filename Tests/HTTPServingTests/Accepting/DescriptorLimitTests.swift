import HTTPServing
import Testing

@Suite struct DescriptorLimitTests {
    @Test("The connection limit is the wanted number, or as many as there are file descriptors for")
    func connections() {
        let cases = [
            (wanted: 4_096, upstream: 1_024, within: 20_000, connections: 4_096), (4_096, 1_024, 1_024 + 4_096 + 128, 4_096),
            (4_096, 1_024, 4_096, 4_096 - 128 - 1_024), (4_096, 1_024, 1_024, 448), (4_096, 0, 1_024, 896), (100, 1_024, 1_024, 100),
            (4_096, 1_024, 200, 36), (4_096, 1_024, 10, 1), (4_096, 0, 0, 2),
        ]
        for (wanted, upstream, available, expected) in cases {
            let connections = DescriptorLimit.connections(wanted: wanted, upstream: upstream, within: available)
            #expect(connections == expected, "\(wanted), \(upstream) within \(available)")
            if available > 130 { #expect(connections + min(connections, upstream) + 128 <= available || connections == wanted) }
        }
    }

    @Test("The system reports how many descriptors the process may open")
    func current() throws {
        #expect(try #require(DescriptorLimit.current) > 0)
    }
}
