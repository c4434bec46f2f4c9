/// Limits how many worlds run at the same time, in the order of arrival.
///
/// All tests run concurrently; forty worlds at a time would be so slow that every deadline in them passed.
actor Turnstile {
    static let worlds = Turnstile(places: 6)

    private var free: Int
    private var waiting: [(places: Int, continuation: CheckedContinuation<Void, Never>)] = []

    init(places: Int) { free = places }

    func enter(_ places: Int) async {
        if waiting.isEmpty, free >= places {
            free -= places
        } else {
            await withCheckedContinuation { waiting.append((places, $0)) }
        }
    }

    func leave(_ places: Int) {
        free += places
        while let next = waiting.first, free >= next.places {
            free -= next.places
            waiting.removeFirst().continuation.resume()
        }
    }
}
