import Approov

/// A configuration store in memory whose every operation can be made to fail.
package final class MemoryStore: ConfigurationStore {
    private let state: Shared<(bytes: [UInt8]?, stored: Int, setAside: Int)>
    /// The error with which storing fails; nil: it succeeds.
    package let failure = Shared<(any Error)?>(nil)
    /// The error with which reading fails; nil: it succeeds.
    package let readFailure = Shared<(any Error)?>(nil)
    /// The error with which setting aside fails; nil: it succeeds.
    package let setAsideFailure = Shared<(any Error)?>(nil)
    /// The number of calls that were to store bytes.
    package let attempts = Shared(0)
    /// The number of calls that read.
    package let reads = Shared(0)

    package init(_ bytes: [UInt8]? = nil) { state = Shared((bytes, 0, 0)) }

    package var bytes: [UInt8]? {
        get { state.value.bytes }
        set { state.change { $0.bytes = newValue } }
    }
    package var storeCount: Int { state.value.stored }
    package var setAsideCount: Int { state.value.setAside }

    package func read() throws -> [UInt8]? {
        reads.change { $0 += 1 }
        if let failure = readFailure.value { throw failure }
        return bytes
    }

    package func store(_ bytes: [UInt8]) throws {
        attempts.change { $0 += 1 }
        if let failure = failure.value { throw failure }
        state.change { ($0.bytes, $0.stored) = (bytes, $0.stored + 1) }
    }

    package func setAside() throws {
        if let failure = setAsideFailure.value { throw failure }
        state.change { ($0.bytes, $0.setAside) = (nil, $0.setAside + 1) }
    }
}
