/// The outcome of an attempt to redeem a challenge.
enum RedemptionOutcome: Sendable {
    /// The challenge is redeemed; the store's generation was this one at that moment.
    case redeemed(generation: Int64)
    case used
    /// The challenge is as old as others whose redemptions were forgotten.
    case forgotten
    /// The account's challenge key has been replaced.
    case unknown
}
