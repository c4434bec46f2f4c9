import Testing

@testable import APIClient

@Suite struct NetworkMonitorStateTests {
    /// The shortest pause.
    private static let pause = NetworkMonitorState.Action.pause(.milliseconds(50))

    /// The length of the pause that the last action asks for; nil for another action.
    private static func length(_ actions: [NetworkMonitorState.Action]) -> Duration? {
        if case .pause(let length)? = actions.last { return length }
        return nil
    }

    /// Takes a state through both lists.
    private func read(
        _ state: inout NetworkMonitorState, links: [UInt8], routes: [UInt8], from first: UInt32
    ) -> [NetworkMonitorState.Action] {
        state.begin() + state.receive(links + NetlinkBytes.end(first)) + state.receive(routes + NetlinkBytes.end(first + 1))
    }

    @Test("An interface that is up with a default route is a network, and nothing else is")
    func statuses() {
        for (links, routes, status) in [
            (NetlinkBytes.link(2, sequence: 1), NetlinkBytes.route(2, sequence: 2), NetworkStatus.reachable),
            (NetlinkBytes.link(2, sequence: 1), NetlinkBytes.route(nil, hops: [3, 2], sequence: 2), .reachable),
            (NetlinkBytes.link(2, sequence: 1), [], .unreachable), ([], NetlinkBytes.route(2, sequence: 2), .unreachable),
            // Of another interface; the loopback interface; without a carrier; down.
            (NetlinkBytes.link(2, sequence: 1), NetlinkBytes.route(3, sequence: 2), .unreachable),
            (NetlinkBytes.link(1, flags: 0x49, sequence: 1), NetlinkBytes.route(1, sequence: 2), .unreachable),
            (NetlinkBytes.link(2, flags: 0x1, sequence: 1), NetlinkBytes.route(2, sequence: 2), .unreachable),
            (NetlinkBytes.link(2, flags: 0x40, sequence: 1), NetlinkBytes.route(2, sequence: 2), .unreachable),
        ] as [([UInt8], [UInt8], NetworkStatus)] {
            var state = NetworkMonitorState()
            #expect(
                read(&state, links: links, routes: routes, from: 1)
                    == [.requestLinks(sequence: 1), .requestRoutes(sequence: 2), .publish(status)])
            #expect(state.status == status)
        }
    }

    @Test("A default route of which the kernel tells only the nexthop object is a network where any interface is up")
    func nexthopObjects() {
        for (links, routes, status) in [
            (NetlinkBytes.link(2, sequence: 1), NetlinkBytes.route(nil, nexthopObject: 7, sequence: 2), NetworkStatus.reachable),
            ([], NetlinkBytes.route(nil, nexthopObject: 7, sequence: 2), .unreachable),
            // No default route; a blackhole; an object whose interface the kernel names.
            (NetlinkBytes.link(2, sequence: 1), NetlinkBytes.route(nil, length: 24, nexthopObject: 7, sequence: 2), .unreachable),
            (NetlinkBytes.link(2, sequence: 1), NetlinkBytes.route(nil, kind: 6, nexthopObject: 7, sequence: 2), .unreachable),
            (NetlinkBytes.link(2, sequence: 1), NetlinkBytes.route(3, nexthopObject: 7, sequence: 2), .unreachable),
            (
                NetlinkBytes.link(2, sequence: 1), NetlinkBytes.route(nil, hops: [2], hopFlags: 1, nexthopObject: 7, sequence: 2),
                .unreachable
            ),
        ] as [([UInt8], [UInt8], NetworkStatus)] {
            var state = NetworkMonitorState()
            _ = read(&state, links: links, routes: routes, from: 1)
            #expect(state.status == status)
        }
    }

    @Test("A change leads to new lists after a pause, in which further changes count no more, and an equal status is not published again")
    func changes() {
        var state = NetworkMonitorState()
        _ = read(&state, links: NetlinkBytes.link(2, sequence: 1), routes: NetlinkBytes.route(2, sequence: 2), from: 1)
        let change = NetlinkBytes.message(NetlinkBytes.newAddress, flags: 0, sequence: 99)
        #expect(state.receive(change + change) == [Self.pause] && state.receive(change).isEmpty)
        #expect(
            read(&state, links: NetlinkBytes.link(2, sequence: 3), routes: NetlinkBytes.route(2, sequence: 4), from: 3)
                == [.requestLinks(sequence: 3), .requestRoutes(sequence: 4)])
        #expect(state.receive(NetlinkBytes.link(2, flags: 0, sequence: 1_700_000_000, isListed: false)) == [Self.pause])
        #expect(read(&state, links: [], routes: [], from: 5).last == .publish(.unreachable))
    }

    @Test("Lists during which something changed, or which the kernel marks as interrupted, are read again")
    func changesMeanwhile() {
        for isMarked in [false, true] {
            var state = NetworkMonitorState()
            _ = state.begin()
            let mark = NetlinkBytes.message(
                NetlinkBytes.newLink, flags: NetlinkBytes.listed | NetlinkBytes.interrupted, sequence: 1,
                [UInt8](repeating: 0, count: 16))
            let change = NetlinkBytes.message(NetlinkBytes.deletedLink, flags: 0, sequence: 0)
            #expect(state.receive((isMarked ? mark : change) + NetlinkBytes.end(1)) == [.requestRoutes(sequence: 2)])
            #expect(state.receive(NetlinkBytes.end(2)) == [Self.pause] && state.status == .unknown)
            #expect(read(&state, links: [], routes: [], from: 3).last == .publish(.unreachable))
        }
    }

    @Test("While routes change all the time, every fifth list counts, except that a missing route may be there", arguments: [true, false])
    func neverQuiet(hasRoute: Bool) {
        var state = NetworkMonitorState()
        let change = NetlinkBytes.message(NetlinkBytes.deletedLink, flags: 0, sequence: 0)
        _ = read(&state, links: [], routes: [], from: 1)
        #expect(state.status == .unreachable)
        for round in 1...10 as ClosedRange<UInt32> {
            let sequence = 2 * round + 1
            let actions = read(
                &state, links: change + NetlinkBytes.link(2, sequence: sequence),
                routes: hasRoute ? NetlinkBytes.route(2, sequence: sequence + 1) : [], from: sequence)
            #expect(Self.length(actions) != nil)
            #expect(actions.contains(.publish(hasRoute ? .reachable : .unknown)) == (round == 5))
        }
    }

    @Test("While routes change all the time, each pause is twice as long as the last one, up to 10 s, until a list was quiet")
    func pauses() {
        var state = NetworkMonitorState()
        let change = NetlinkBytes.message(NetlinkBytes.deletedLink, flags: 0, sequence: 0)
        var lengths: [Duration?] = []
        for round in 0..<10 as Range<UInt32> {
            let actions = read(&state, links: change, routes: [], from: 2 * round + 1)
            lengths.append(Self.length(actions))
        }
        let expected = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]
        #expect(lengths == expected.map { (count: Int) -> Duration? in .milliseconds(count) })
        // Further messages in the pause do not make the next one longer.
        #expect(state.overrun().isEmpty)
        #expect(Self.length(read(&state, links: [], routes: [], from: 21)) == nil)
        #expect(state.receive(change) == [Self.pause])
        #expect(read(&state, links: change, routes: [], from: 23).last == Self.pause)
        #expect(Self.length(read(&state, links: change, routes: [], from: 25)) == .milliseconds(100))
    }

    @Test("A default route in several parts is a network, unless its interface has no carrier")
    func splitRoutes() {
        for (flags, status) in [(nil, NetworkStatus.reachable), (0x1, .unreachable)] as [(UInt32?, NetworkStatus)] {
            var state = NetworkMonitorState()
            let links = flags.map { NetlinkBytes.link(2, flags: $0, sequence: 1) } ?? NetlinkBytes.link(2, sequence: 1)
            _ = read(&state, links: links, routes: NetlinkBytes.route(2, length: 1, to: [128, 0, 0, 0], sequence: 2), from: 1)
            #expect(state.status == status)
        }
    }

    @Test("Lost or malformed messages begin new lists, and the rest of the old one is ignored")
    func overrun() {
        var state = NetworkMonitorState()
        _ = state.begin()
        #expect(state.overrun() == [Self.pause] && state.overrun().isEmpty)
        #expect(state.receive(NetlinkBytes.link(2, sequence: 1) + NetlinkBytes.end(1)).isEmpty)
        #expect(state.begin() == [.requestLinks(sequence: 2)])
        #expect(state.receive(NetlinkBytes.link(2, sequence: 1) + NetlinkBytes.end(1)).isEmpty)
        #expect(state.receive([1, 2, 3]) == [.pause(.milliseconds(100))])
    }

    @Test("Lists that are lost again and again make the status unknown, and are asked for again")
    func alwaysOverrun() {
        var state = NetworkMonitorState()
        _ = read(&state, links: [], routes: [], from: 1)
        for round in 1...10 {
            _ = state.begin()
            let actions = state.overrun()
            #expect(Self.length(actions) != nil && actions.contains(.publish(.unknown)) == (round == 5))
        }
    }

    @Test("While an earlier list has not ended, the kernel refuses the next one, which is asked for again after a pause")
    func busy() {
        var state = NetworkMonitorState()
        _ = state.begin()
        #expect(state.receive(NetlinkBytes.failure(1, number: 16)) == [Self.pause])
    }

    @Test("A refusal of the kernel makes the status unknown, until something changes")
    func refusal() {
        for refusal in [NetlinkBytes.failure(1, number: 1), NetlinkBytes.end(1, number: -1)] {
            var state = NetworkMonitorState()
            _ = state.begin()
            #expect(state.receive(refusal).isEmpty && state.status == .unknown)
            #expect(state.receive(NetlinkBytes.message(NetlinkBytes.newAddress, flags: 0, sequence: 0)) == [Self.pause])
            #expect(read(&state, links: [], routes: [], from: 2).last == .publish(.unreachable))
            _ = state.begin()
            #expect(state.receive(NetlinkBytes.failure(4, number: 1)) == [.publish(.unknown)])
        }
    }
}
