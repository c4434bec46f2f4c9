import NIOCore
import Testing

@testable import HTTPServing

@Suite struct ClientPlacesTests {
    @Test("A client gets places up to its limit, other clients have their own, and a released place is free again")
    func places() throws {
        let places = ClientPlaces(limit: 2)
        let one = try SocketAddress(ipAddress: "192.0.2.1", port: 1)
        let other = try SocketAddress(ipAddress: "192.0.2.2", port: 1)
        var taken = [places.enter(one), places.enter(one)]
        #expect(taken.allSatisfy { $0 != nil })
        #expect(places.enter(one) == nil)
        #expect(places.enter(other) != nil)
        taken.removeLast()
        #expect(places.enter(one) != nil)
        #expect(places.clients == 1)
        taken = []
        #expect(places.clients == 0)
    }
}
