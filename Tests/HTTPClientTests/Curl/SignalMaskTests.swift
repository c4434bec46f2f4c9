import Foundation
import TestTags
import Testing

@testable import HTTPClient

@Suite(.tags(.processes)) struct SignalMaskTests {
    /// Writes to a pipe that no one reads.
    private static func writeToClosedPipe() -> Int32 {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        close(ends[0])
        defer { close(ends[1]) }
        return write(ends[1], "x", 1) == -1 ? errno : 0
    }

    @Test("A write to a closed pipe fails without the signal, and does so again")
    func without() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<2 { #expect(SignalMask.withoutSignals { Self.writeToClosedPipe() } == EPIPE) }
        }
    }

    @Test("Afterwards the signal ends the process as before")
    func afterwards() async {
        await #expect(processExitsWith: .signal(SIGPIPE)) {
            _ = SignalMask.withoutSignals { Self.writeToClosedPipe() }
            _ = Self.writeToClosedPipe()
        }
    }

    @Test("A thread that blocks the signal itself still blocks it afterwards")
    func blocked() async {
        await #expect(processExitsWith: .success) {
            SignalMask.withoutSignals {
                SignalMask.withoutSignals { _ = Self.writeToClosedPipe() }
                #expect(Self.writeToClosedPipe() == EPIPE)
            }
        }
    }
}
