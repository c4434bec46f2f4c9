import CLibCurl
import Testing

@testable import HTTPClient

@Suite struct WatchedSocketTests {
    private let both = UInt32(clibcurl_epoll_in) | UInt32(clibcurl_epoll_out)
    private let write = UInt32(clibcurl_epoll_out)
    private let read = UInt32(clibcurl_epoll_in)

    private func stuck(wanting events: UInt32) -> WatchedSocket {
        var socket = WatchedSocket(wanted: events)
        for _ in 0..<WatchedSocket.patience { socket.worked(on: write, hasMoved: false, now: 5) }
        return socket
    }

    @Test("A socket that is ready to be written to again and again, although nothing moves, is not asked about writing for a moment")
    func rests() {
        var socket = WatchedSocket(wanted: both)
        for _ in 1..<WatchedSocket.patience { socket.worked(on: write, hasMoved: false, now: 5) }
        #expect(socket.effective == both && socket.restsUntil == nil)
        socket.worked(on: write, hasMoved: false, now: 5)
        #expect(socket.effective == read && socket.restsUntil == 5 + WatchedSocket.rest)
        socket.wake()
        #expect(socket.effective == both && socket.restsUntil == nil)
    }

    @Test("What arrives, moves, or is wanted again by libcurl ends the rest at once")
    func wakes() {
        var arrived = stuck(wanting: both)
        arrived.worked(on: both, hasMoved: false, now: 6)
        #expect(arrived.effective == both)
        var moved = stuck(wanting: both)
        moved.worked(on: write, hasMoved: true, now: 6)
        #expect(moved.effective == both)
        var wanted = stuck(wanting: both)
        wanted.want(both)
        #expect(wanted.effective == both && wanted.restsUntil == nil)
    }

    @Test("A socket on which content moves now and then never rests, nor does one that is only written to")
    func works() {
        var socket = WatchedSocket(wanted: both)
        for index in 0..<1_000 { socket.worked(on: write, hasMoved: index % 63 == 0, now: 5) }
        #expect(socket.effective == both)
        #expect(stuck(wanting: write).effective == write)
    }
}
