import NIOCore
import Testing

@testable import HTTPServing

@Suite struct ConnectionPlacesTests {
    private typealias Places = ConnectionPlaces<Int>

    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let start = Self.start
    private var places = Places(limits: Self.limits())

    private static func limits(places: Int = 8, share: Int = 4) -> Places.Limits {
        Places.Limits(
            places: places, share: share, handshake: .seconds(5), firstByte: .seconds(5), idle: .seconds(30), request: .seconds(60),
            linger: .seconds(2), drain: .seconds(8))
    }

    private func client(_ number: UInt8) throws -> AddressGroup {
        AddressGroup(try SocketAddress(ipAddress: "192.0.2.\(number)", port: 1))
    }

    private mutating func open(_ id: Int, by number: UInt8, isSecure: Bool = false, after seconds: Int64 = 0) throws -> [Int] {
        places.opened(id, by: .client(try client(number)), isSecure: isSecure, at: start + .seconds(seconds))
    }

    @Test("A client above its share loses its own connection that has been without a request the longest")
    mutating func share() throws {
        for id in 1...4 { #expect(try open(id, by: 1).isEmpty) }
        places.requestBegins(1, on: 1, at: start)
        #expect(try open(5, by: 1) == [2])
        places.requestEnds(1, on: 1, at: start)
        #expect(try open(6, by: 1) == [3])
        #expect(try open(7, by: 2).isEmpty)
        #expect(places.count == 5)
    }

    @Test("A client whose connections all have a request gets no further connection")
    mutating func shareOfBusy() throws {
        for id in 1...4 {
            #expect(try open(id, by: 1).isEmpty)
            places.requestBegins(id, on: id, at: start)
        }
        #expect(try open(5, by: 1) == [5])
        #expect(places.count == 4 && !places.contains(5))
    }

    @Test("When all places are taken, the client with the most connections loses one, an idle one first")
    mutating func full() throws {
        for id in 1...4 { _ = try open(id, by: 1) }
        for id in 5...7 { _ = try open(id, by: 2) }
        _ = try open(8, by: 3)
        #expect(try open(9, by: 4) == [1])
        // Two clients have three now. The one that reached three first loses a connection.
        #expect(try open(10, by: 5) == [5])
        for id in 2...4 { places.requestBegins(id, on: id, at: start) }
        #expect(try open(11, by: 6) == [2])
        #expect(places.count == 8)
    }

    @Test("Among clients with equally many connections, one with an idle connection loses it")
    mutating func fullOfEquals() throws {
        for id in 1...8 { _ = try open(id, by: UInt8(id)) }
        for id in 1...5 { places.requestBegins(id, on: id, at: start) }
        #expect(try open(9, by: 9) == [6])
        for id in [7, 8, 9] { places.requestBegins(id, on: id, at: start) }
        #expect(try open(10, by: 10) == [1])
    }

    @Test("Six thousand connections of one client cost no other client its place")
    mutating func flood() throws {
        places = Places(limits: Self.limits(places: 4_096, share: 1_024))
        for id in 1...100 { #expect(try open(id, by: UInt8(id)).isEmpty) }
        var cut = 0
        for id in 1_000..<7_000 { cut += try open(id, by: 200).count }
        #expect(cut == 6_000 - 1_024)
        #expect(places.count == 1_024 + 100)
        #expect((1...100).allSatisfy { places.contains($0) })
    }

    @Test("The handshake, the first byte, the idle time and the end each have their own timeout", arguments: [false, true])
    mutating func deadlines(isSecure: Bool) throws {
        _ = try open(1, by: 1, isSecure: isSecure)
        #expect(places.overdue(at: start + .milliseconds(4_999)).isEmpty)
        #expect(places.overdue(at: start + .seconds(5)) == [.cutIfSilent(1)])
        if isSecure {
            places.secured(1, at: start + .seconds(4))
            #expect(places.overdue(at: start + .milliseconds(8_999)).isEmpty)
            #expect(places.overdue(at: start + .seconds(9)) == [.cutIfSilent(1)])
        }
        #expect(places.isSilent(1, at: start + .seconds(9)))
        places.received(1, at: start + .seconds(4))
        #expect(!places.isSilent(1, at: start + .seconds(9)))
        #expect(places.overdue(at: start + .milliseconds(33_999)).isEmpty)
        #expect(places.overdue(at: start + .seconds(34)) == [.end(1)])
        // The end has its own timeout as well.
        #expect(places.overdue(at: start + .milliseconds(35_999)).isEmpty)
        #expect(places.overdue(at: start + .seconds(36)) == [.cut(1)])
        places.closed(1)
        #expect(places.overdue(at: start + .seconds(100)).isEmpty && places.count == 0)
    }

    @Test("Each request or HTTP/2 stream has its own timeout, and the idle time begins when the last one ends")
    mutating func requests() throws {
        _ = try open(1, by: 1)
        places.received(1, at: start)
        places.requestBegins(11, on: 1, at: start)
        places.requestBegins(13, on: 1, at: start + .seconds(10))
        #expect(places.overdue(at: start + .milliseconds(59_999)).isEmpty)
        #expect(places.overdue(at: start + .seconds(60)) == [.cut(11)])
        places.requestEnds(11, on: 1, at: start + .seconds(60))
        #expect(places.overdue(at: start + .milliseconds(69_999)).isEmpty)
        places.requestEnds(13, on: 1, at: start + .seconds(65))
        #expect(places.overdue(at: start + .milliseconds(94_999)).isEmpty)
        #expect(places.overdue(at: start + .seconds(95)) == [.end(1)])
    }

    @Test("An ended connection is cut after the linger time")
    mutating func lingering() throws {
        _ = try open(1, by: 1)
        places.received(1, at: start)
        places.ended(1, at: start + .seconds(1))
        #expect(places.overdue(at: start + .milliseconds(2_999)).isEmpty)
        #expect(places.overdue(at: start + .seconds(3)) == [.cut(1)])
    }

    @Test("A proxy's connections have no share but short timeouts, and count for a client once it is named")
    mutating func proxy() throws {
        let proxy = Places.Owner.proxy(try client(1))
        for id in 1...6 { #expect(places.opened(id, by: proxy, isSecure: true, at: start).isEmpty) }
        #expect(places.overdue(at: start + .seconds(5)).count == 6)
        let named = try client(7)
        for id in 1...4 { #expect(places.identified(id, as: named, at: start + .seconds(4)).isEmpty) }
        #expect(places.identified(5, as: named, at: start + .seconds(4)) == [1])
        #expect(places.count(of: proxy) == 1 && places.count(of: .client(named)) == 4)
        #expect(places.overdue(at: start + .seconds(5)) == [.cutIfSilent(6)])
        places.isOfProxy(6, at: start + .seconds(4))
        #expect(places.overdue(at: start + .milliseconds(8_999)).isEmpty)
        #expect(places.overdue(at: start + .seconds(9)).count == 5)
    }

    @Test("On shutdown silent connections are cut early, and one with a request after the drain time")
    mutating func drain() throws {
        for id in 1...3 { _ = try open(id, by: 1) }
        places.received(1, at: start)
        places.requestBegins(1, on: 1, at: start)
        places.drain(at: start + .seconds(1))
        places.drain(at: start + .seconds(3))
        #expect(Set(places.overdue(at: start + .seconds(2))) == [.cutIfSilent(2), .cutIfSilent(3)])
        for id in 2...3 { places.closed(id) }
        #expect(places.overdue(at: start + .milliseconds(8_999)).isEmpty)
        #expect(Set(places.overdue(at: start + .seconds(9))) == [.cut(1)])
    }

    @Test("On shutdown an idle connection ends after half a second, unless a request resumes it")
    mutating func drainIdle() throws {
        _ = try open(1, by: 1)
        places.received(1, at: start)
        places.drain(at: start + .seconds(1))
        #expect(places.overdue(at: start + .milliseconds(1_499)).isEmpty)
        #expect(places.overdue(at: start + .milliseconds(1_500)) == [.end(1)])
        places.resumed(1, at: start + .milliseconds(1_500))
        places.requestBegins(1, on: 1, at: start + .milliseconds(1_600))
        #expect(places.overdue(at: start + .seconds(8)).isEmpty)
        places.requestEnds(1, on: 1, at: start + .seconds(8))
        #expect(places.overdue(at: start + .milliseconds(8_499)).isEmpty)
        #expect(places.overdue(at: start + .milliseconds(8_500)) == [.end(1)])
    }

    @Test("The counts stay correct and within limits while random connections open, work and close")
    mutating func crowd() throws {
        var generator = SystemRandomNumberGenerator()
        var known: Set<Int> = []
        for step in 0..<20_000 {
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                let cut = try open(step, by: UInt8.random(in: 1...9, using: &generator))
                known.insert(step)
                known.subtract(cut)
            case 2: if let id = known.randomElement() { places.requestBegins(id, on: id, at: start) }
            case 3: if let id = known.randomElement() { places.requestEnds(id, on: id, at: start) }
            default:
                guard let id = known.randomElement() else { continue }
                places.closed(id)
                known.remove(id)
            }
            #expect(places.count == known.count && places.count <= 8)
        }
        let clients = try (1...9).map { places.count(of: .client(try client($0))) }
        #expect(clients.reduce(0, +) == known.count && clients.allSatisfy { $0 <= 4 })
    }
}
