internal import ApproovBase
internal import HTTPServing
internal import Synchronization

/// The places that a request takes: one of all, and one of its client's share.
///
/// The last reference releases them, if no owner has.
final class RequestSlot: Sendable {
    private let permit: ConcurrencyLimit.SharedPermit
    private let place: Mutex<ClientPlaces.Place?>

    init(_ permit: ConcurrencyLimit.SharedPermit, _ place: ClientPlaces.Place) {
        self.permit = permit
        self.place = Mutex(place)
    }

    /// Releases the places, although there are other references.
    func release() {
        permit.release()
        place.withLock { $0 = nil }
    }
}
