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

    @Test("What arrives or moves ends the rest, and the whole patience is back; after a rest alone, less is enough for the next one")
    func wakes() {
        for (events, hasMoved) in [(both, false), (read, false), (write, true)] {
            var socket = stuck(wanting: both)
            socket.worked(on: events, hasMoved: hasMoved, now: 6)
            #expect(socket.effective == both)
            for _ in 1..<WatchedSocket.patience { socket.worked(on: write, hasMoved: false, now: 7) }
            #expect(socket.effective == both)
        }
        var rested = stuck(wanting: both)
        rested.wake()
        for _ in 1..<WatchedSocket.patienceAfterRest { rested.worked(on: write, hasMoved: false, now: 7) }
        #expect(rested.effective == both)
        rested.worked(on: write, hasMoved: false, now: 7)
        #expect(rested.effective == read && rested.restsUntil == 7 + WatchedSocket.rest)
    }

    @Test("libcurl's wish not to write any more, and to write again, neither ends nor prolongs a rest")
    func wishes() {
        var socket = stuck(wanting: both)
        socket.wanted = read
        #expect(socket.effective == read)
        socket.wanted = write
        #expect(socket.effective == write)
        socket.wanted = both
        #expect(socket.effective == read && socket.restsUntil == 5 + WatchedSocket.rest)
    }

    @Test("A socket on which content moves now and then never rests, nor does one that is only written to")
    func works() {
        var socket = WatchedSocket(wanted: both)
        for index in 0..<1_000 { socket.worked(on: write, hasMoved: index % 63 == 0, now: 5) }
        #expect(socket.effective == both)
        #expect(stuck(wanting: write).effective == write)
    }
}
