/// An address has sent too many requests.
struct RateLimited: Error {
    /// The seconds to wait before asking again.
    let seconds: Int
}
