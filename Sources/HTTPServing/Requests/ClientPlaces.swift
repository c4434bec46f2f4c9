package import NIOCore
internal import Synchronization

/// Counts the requests that each client has under way, against the most that one may have.
package final class ClientPlaces: Sendable {
    /// The place of one request; released with its last reference.
    package final class Place: Sendable {
        private let places: ClientPlaces
        private let client: AddressGroup

        fileprivate init(_ places: ClientPlaces, _ client: AddressGroup) {
            self.places = places
            self.client = client
        }

        deinit { places.leave(client) }
    }

    private let limit: Int
    /// The requests of each client that has some; never more entries than connections.
    private let taken = Mutex<[AddressGroup: Int]>([:])

    /// Makes a table.
    ///
    /// - Parameter limit: The most requests that one client may have under way.
    package init(limit: Int) { self.limit = limit }

    /// Takes a place; nil when the client has all that it may have.
    package func enter(_ address: SocketAddress?) -> Place? {
        let client = AddressGroup(address)
        let isFree = taken.withLock { taken in
            guard taken[client, default: 0] < limit else { return false }
            taken[client, default: 0] += 1
            return true
        }
        return isFree ? Place(self, client) : nil
    }

    /// The number of clients with requests under way.
    package var clients: Int { taken.withLock { $0.count } }

    private func leave(_ client: AddressGroup) {
        taken.withLock { taken in
            let left = taken[client, default: 1] - 1
            taken[client] = left > 0 ? left : nil
        }
    }
}
