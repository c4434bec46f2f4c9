/// The outcome of an attempt to redeem a challenge.
enum RedemptionOutcome: Sendable {
    case redeemed
    case used
    /// The challenge is as old as others whose redemptions were forgotten.
    case forgotten
    /// The account's challenge key has been replaced.
    case unknown
}
